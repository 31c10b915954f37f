import { now } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import type { Ending } from "../../shared/wire/protocol.ts";
import type { Store } from "../store/store.ts";
import type { ActiveExecution, ActiveExecutions } from "./active.ts";
import type { ReportEnding } from "./ending-report.ts";
import { hasCors, leaveOutCors } from "./cross-origin.ts";
import type { Journal } from "./journal.ts";
import {
  decide,
  isJudgedAtOnce,
  toOutcome,
  type Outcome,
  type OutcomeJob,
  type OutcomeLimits,
} from "./outcome.ts";

export interface EndingsOptions {
  readonly store: Store;
  readonly log: Log;
  readonly limits: OutcomeLimits;
  /** `toOutcome` of what is large, elsewhere. */
  readonly judgeLarge: (job: OutcomeJob) => Promise<Outcome>;
  /** Is told that an ending is on disk. */
  readonly reportEnding: ReportEnding;
}

export interface EndingsDeps extends EndingsOptions {
  readonly journal: Journal;
  readonly active: ActiveExecutions;
  /** It has ended elsewhere, and otherwise. */
  readonly overtaken: (execution: ActiveExecution) => void;
}

/** How executions end: what a thread reports is judged, written, and told to whoever waits. */
export class Endings {
  readonly #deps: EndingsDeps;
  /** Of executions whose threads have reported, and that are not decided yet. */
  readonly #underWay = new Set<Promise<void>>();

  constructor(deps: EndingsDeps) {
    this.#deps = deps;
  }

  /** Its thread has reported how it ended. */
  conclude(execution: ActiveExecution, ending: Ending): void {
    const outcome = isJudgedAtOnce(ending) ? this.#judge(execution.id, ending) : null;
    if (outcome !== null && !hasCors(outcome)) return this.#write(execution, outcome);
    const concluded = this.#concludeLater(execution, ending, outcome)
      .catch((error: unknown) => this.#giveUp(execution, error))
      .finally(() => this.#underWay.delete(concluded));
    this.#underWay.add(concluded);
  }

  #write(execution: ActiveExecution, outcome: Outcome): void {
    try {
      this.write(execution, outcome);
    } catch (error) {
      this.#giveUp(execution, error);
    }
  }

  /** An error of the service's own costs an execution its result, and does not leave it running. */
  #giveUp(execution: ActiveExecution, error: unknown): void {
    const { log } = this.#deps;
    log.error({ execution: execution.id, err: error }, "Cannot carry on with an execution");
    const message = "The flow's ending could not be recorded";
    this.write(execution, decide(execution.id, "ENDED_ERROR", message));
  }

  /** Resolves once all is decided that threads have reported until now. */
  async decided(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  /** Writes the ending, unless another was decided before, and tells whoever waits. */
  write(execution: ActiveExecution, outcome: Outcome): void {
    if (execution.decided !== null) return this.#forget(execution);
    execution.decided = outcome;
    execution.queue?.ended(execution);
    try {
      this.#record(execution, outcome);
    } catch (error) {
      execution.decided = null;
      throw error;
    }
  }

  #record(execution: ActiveExecution, outcome: Outcome): void {
    const { recordedStart, givenAt, row } = execution;
    // Not before it began, where the clock was set back meanwhile.
    const endedAt = Math.max(now(), row.created_at, recordedStart ?? 0, givenAt ?? 0);
    this.#deps.journal.end(outcome, endedAt, {
      synced: () => this.synced(execution, outcome, endedAt),
      applied: () => this.applied(execution),
      overtaken: () => this.#deps.overtaken(execution),
    });
  }

  /** The ending is on disk. */
  synced(execution: ActiveExecution, outcome: Outcome, endedAt: number): void {
    if (!execution.isRefused) this.#deps.reportEnding(execution, outcome, endedAt);
    execution.settle(outcome);
  }

  /** The tables have the ending. */
  applied(execution: ActiveExecution): void {
    execution.isApplied = true;
    this.#forget(execution);
  }

  /** Once the tables have its ending and it has no thread, it is active no longer. */
  #forget(execution: ActiveExecution): void {
    if (execution.isApplied && execution.run === null) this.#deps.active.delete(execution);
  }

  /** @param judged null: it is large, and judged elsewhere */
  async #concludeLater(
    execution: ActiveExecution,
    ending: Ending,
    judged: Outcome | null,
  ): Promise<void> {
    const outcome = judged ?? (await this.#judgeLarge(execution.id, ending));
    this.write(execution, await leaveOutCors(this.#deps.store, execution.row, outcome));
  }

  #judgeLarge(id: string, ending: Ending): Promise<Outcome> {
    const { limits, judgeLarge } = this.#deps;
    return judgeLarge({ id, ending, limits }).catch((error: unknown) => this.#misjudge(id, error));
  }

  #judge(id: string, ending: Ending): Outcome {
    try {
      return toOutcome(id, ending, this.#deps.limits);
    } catch (error) {
      return this.#misjudge(id, error);
    }
  }

  /** An ending that cannot be judged is a failure of the execution, never of the service. */
  #misjudge(id: string, error: unknown): Outcome {
    this.#deps.log.error({ execution: id, err: error }, "Cannot judge an ending");
    return decide(id, "ENDED_ERROR", "The flow's ending could not be read");
  }
}
