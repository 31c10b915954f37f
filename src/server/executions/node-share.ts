import type { ActiveExecution, ActiveExecutions } from "./active.ts";
import { ExecutionRun } from "./execution-run.ts";
import type { QueueRoom } from "./queue-room.ts";
import type { Removals } from "./removals.ts";
import type { Scheduler } from "./scheduler.ts";
import type { LimitedWebhook } from "./webhook-queue.ts";
import type { WebhookQueues } from "./webhook-queues.ts";

export interface NodeShareDeps {
  readonly scheduler: Scheduler;
  readonly queues: WebhookQueues;
  readonly room: QueueRoom;
  readonly active: ActiveExecutions;
  readonly removals: Removals;
}

/** This node's part of what all nodes have to run: what it could take, and what it leaves to others. */
export class NodeShare {
  readonly #deps: NodeShareDeps;

  constructor(deps: NodeShareDeps) {
    this.#deps = deps;
  }

  /** Whether any thread is free, for whatever flow. */
  get hasFreeThread(): boolean {
    return this.#deps.scheduler.hasFreeThread;
  }

  /** How many more of a flow could have a thread at once. */
  roomOf(flow: string): number {
    return this.#deps.scheduler.roomOf(flow);
  }

  /** How many of a flow wait for a thread. */
  queuedOf(flow: string): number {
    return this.#deps.room.queuedOf(flow);
  }

  /** That wait for threads which others have: of each flow the first, up to so many. */
  listQueued(most: number): ActiveExecution[] {
    const runs = this.#deps.scheduler.listQueued(most);
    return runs.flatMap((run) => (run instanceof ExecutionRun ? run.execution : []));
  }

  /** Of which no ending was decided here. */
  listUndecided(): string[] {
    return [...this.#deps.active].filter(({ decided }) => decided === null).map(({ id }) => id);
  }

  /** @param list reads all webhooks that have limits now */
  limitOnly(list: () => Promise<readonly LimitedWebhook[]>): Promise<void> {
    return this.#deps.queues.limitOnly(list);
  }

  /** Webhooks of which no other execution may run here just now. */
  listBusyWebhooks(): string[] {
    return this.#deps.queues.listBusy();
  }

  /** It has ended elsewhere, or another node has it. */
  leave(id: string): void {
    const { active, removals } = this.#deps;
    const execution = active.find(id);
    if (execution?.decided === null) removals.leave(execution);
  }

  /**
   * This node was given up: all that it has is others'. What is not recorded yet will be this
   * node's, once it is one again, or is refused.
   */
  leaveAll(): void {
    const { active, removals } = this.#deps;
    for (const execution of [...active].filter(({ isRecorded }) => isRecorded))
      if (execution.decided === null) removals.leave(execution);
  }
}
