import { toReplacedMessage } from "../store/ledger-record.ts";
import type { ActiveExecution } from "./active.ts";
import type { Endings } from "./endings.ts";
import { decide } from "./outcome.ts";
import type { Removals } from "./removals.ts";
import type { Scheduler } from "./scheduler.ts";
import type { WebhookQueues } from "./webhook-queues.ts";

export interface ReplacementsDeps {
  readonly scheduler: Pick<Scheduler, "withdraw">;
  readonly queues: WebhookQueues;
  readonly endings: Endings;
  readonly removals: Pick<Removals, "leaveRun">;
}

/** What waits of a webhook and ends with the begin of its newest execution (`when_busy: replace`). */
export class Replacements {
  readonly #deps: ReplacementsDeps;
  /** Of which it is not known yet whether they are: the begin is being recorded. */
  readonly #undecided = new Map<ActiveExecution, PromiseWithResolvers<void>>();

  constructor(deps: ReplacementsDeps) {
    this.#deps = deps;
  }

  /** Decides which these are; none of them runs any more. */
  decide({ id, row }: ActiveExecution): ActiveExecution[] {
    const { queues, scheduler } = this.#deps;
    const waiting = queues.find(row.webhook_id)?.listReplaceable() ?? [];
    const replaced = waiting.filter(({ run }) => run !== null && run.link !== null);
    for (const execution of replaced) {
      const { run, queue } = execution;
      if (run !== null) scheduler.withdraw(run);
      if (run !== null) queue?.leave(run);
      queue?.ended(execution);
      execution.decided = decide(execution.id, "ENDED_CANCELLED", toReplacedMessage(id));
      this.#undecided.set(execution, Promise.withResolvers());
    }
    return replaced;
  }

  /** Resolves once it has ended, or waits on; undefined: it is not being replaced. */
  whenKnown(execution: ActiveExecution): Promise<void> | undefined {
    return this.#undecided.get(execution)?.promise;
  }

  /** What was to replace them could not be recorded: they wait on. */
  restore(replaced: readonly ActiveExecution[]): void {
    for (const execution of replaced) {
      execution.decided = null;
      if (execution.run !== null) execution.queue?.add(execution, execution.run, true);
      this.#known(execution);
    }
  }

  /** It is on disk that they have ended. */
  synced(replaced: readonly ActiveExecution[], endedAt: number): void {
    const { removals, endings } = this.#deps;
    for (const execution of replaced) {
      this.#known(execution);
      if (execution.isElsewhere) continue;
      removals.leaveRun(execution);
      if (execution.decided !== null) endings.synced(execution, execution.decided, endedAt);
    }
  }

  /** The tables have it. */
  applied(replaced: readonly ActiveExecution[]): void {
    for (const execution of replaced)
      if (!execution.isElsewhere) this.#deps.endings.applied(execution);
  }

  #known(execution: ActiveExecution): void {
    this.#undecided.get(execution)?.resolve();
    this.#undecided.delete(execution);
  }
}

/** The turn of whoever takes their place. */
export function firstTurnOf(replaced: readonly ActiveExecution[]): number {
  return replaced.reduce((first, { run }) => Math.min(first, run?.turn ?? Infinity), Infinity);
}
