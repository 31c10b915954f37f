import type { ActiveExecution, ActiveExecutions } from "./active.ts";
import { ExecutionRun } from "./execution-run.ts";
import type { QueueRoom } from "./queue-room.ts";
import type { Removals } from "./removals.ts";
import type { Scheduler } from "./scheduler.ts";

export interface NodeShareDeps {
  readonly scheduler: Scheduler;
  readonly room: QueueRoom;
  readonly active: ActiveExecutions;
  readonly removals: Removals;
}

/** This node's part of what all nodes have to run: what it could take, and what it leaves to others. */
export class NodeShare {
  readonly #active: ActiveExecutions;
  readonly #removals: Removals;
  readonly scheduler: Scheduler;
  readonly room: QueueRoom;

  constructor({ active, removals, scheduler, room }: NodeShareDeps) {
    this.#active = active;
    this.#removals = removals;
    this.scheduler = scheduler;
    this.room = room;
  }

  /** That wait for threads which others have: of each flow the first, up to so many. */
  listQueued(most: number): ActiveExecution[] {
    const runs = this.scheduler.listQueued(most);
    return runs.flatMap((run) => (run instanceof ExecutionRun ? run.execution : []));
  }

  /** Of which no ending was decided here. */
  listUndecided(): string[] {
    return [...this.#active].filter(({ decided }) => decided === null).map(({ id }) => id);
  }

  /** It has ended elsewhere, or another node has it. */
  leave(id: string): void {
    const execution = this.#active.find(id);
    if (execution?.decided === null) this.#removals.leave(execution);
  }

  /**
   * This node was given up: all that it has is others'. What is not recorded yet will be this
   * node's, once it is one again, or is refused.
   */
  leaveAll(): void {
    for (const execution of [...this.#active].filter(({ isRecorded }) => isRecorded))
      if (execution.decided === null) this.#removals.leave(execution);
  }
}
