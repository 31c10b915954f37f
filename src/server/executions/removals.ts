import type { EndedStatus } from "../../shared/contract/status.ts";
import type { Log } from "../../shared/log.ts";
import type { ActiveExecution, ActiveExecutions } from "./active.ts";
import type { Elsewhere } from "./elsewhere.ts";
import type { Endings } from "./endings.ts";
import type { Journal } from "./journal.ts";
import type { KeptInputs } from "./kept-inputs.ts";
import { decide } from "./outcome.ts";
import type { Scheduler } from "./scheduler.ts";

export interface RemovalsDeps {
  readonly journal: Journal;
  readonly scheduler: Scheduler;
  readonly active: ActiveExecutions;
  readonly endings: Endings;
  readonly elsewhere: Elsewhere;
  readonly kept: KeptInputs;
  readonly log: Log;
}

/** Takes executions out of what waits and runs here, other than by the end of their run. */
export class Removals {
  readonly #deps: RemovalsDeps;

  constructor(deps: RemovalsDeps) {
    this.#deps = deps;
  }

  /** Decides the ending of what waits or runs; false where one was decided before. */
  cutShort(execution: ActiveExecution, status: EndedStatus, message: string): boolean {
    if (execution.decided !== null) return false;
    if (this.#abort(execution, message)) this.leaveRun(execution);
    this.#deps.endings.write(execution, decide(execution.id, status, message));
    return true;
  }

  /** It could not be recorded: it is as if it had never been. */
  refuse(execution: ActiveExecution): void {
    execution.isRefused = true;
    this.#drop(execution, "It was not recorded");
  }

  /** It had its turn and cannot run. */
  giveUp(execution: ActiveExecution, error: unknown): void {
    const { journal, log, endings } = this.#deps;
    this.leaveRun(execution);
    // The service stops before its record could be read: it stays PENDING.
    if (journal.isClosing && execution.decided === null) return;
    if (execution.decided === null)
      log.error({ execution: execution.id, error: String(error) }, "Cannot start");
    endings.write(execution, decide(execution.id, "ENDED_ERROR", "It could not be started"));
  }

  /** Whoever waits for it gets what is written elsewhere. */
  leave(execution: ActiveExecution): void {
    if (execution.isElsewhere) return;
    execution.isElsewhere = true;
    execution.decided ??= decide(execution.id, "ENDED_ERROR", "Another node has it");
    this.#drop(execution, "Another node has it");
    this.#deps.elsewhere.await(execution);
  }

  /** Its ending could not be written, because it is not here any more: a cancel goes after it. */
  leaveCancelled(execution: ActiveExecution): void {
    const { id, decided } = execution;
    this.leave(execution);
    if (decided?.status === "ENDED_CANCELLED")
      this.#deps.elsewhere.insistCancel(id, decided.status_message ?? "");
  }

  /** It has no thread any more, or was never given one. */
  leaveRun(execution: ActiveExecution): void {
    const { run, queue } = execution;
    execution.run = null;
    if (run !== null) queue?.leave(run);
    this.#deps.kept.release(execution);
  }

  #drop(execution: ActiveExecution, reason: string): void {
    this.#abort(execution, reason);
    this.leaveRun(execution);
    // Nobody else tells its queue: it is not written here how it ends.
    execution.queue?.ended(execution);
    this.#deps.active.delete(execution);
  }

  /** @returns whether it waited: then it is gone, without an ending */
  #abort({ run, queue }: ActiveExecution, reason: string): boolean {
    if (run === null) return false;
    if (run.link !== null && queue?.leave(run)) return true;
    return this.#deps.scheduler.abort(run, reason);
  }
}
