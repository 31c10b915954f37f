import type { EndedStatus } from "../../shared/contract/status.ts";
import type { Log } from "../../shared/log.ts";
import type { Run } from "../workers/worker.ts";
import type { ActiveExecution, ActiveExecutions } from "./active.ts";
import type { Elsewhere } from "./elsewhere.ts";
import type { Endings } from "./endings.ts";
import type { Journal } from "./journal.ts";
import type { KeptInputs } from "./kept-inputs.ts";
import { decide } from "./outcome.ts";
import type { Scheduler } from "./scheduler.ts";

export interface RemovalsOptions {
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
  readonly #journal: Journal;
  readonly #scheduler: Scheduler;
  readonly #active: ActiveExecutions;
  readonly #endings: Endings;
  readonly #elsewhere: Elsewhere;
  readonly #kept: KeptInputs;
  readonly #log: Log;

  constructor(options: RemovalsOptions) {
    this.#journal = options.journal;
    this.#scheduler = options.scheduler;
    this.#active = options.active;
    this.#endings = options.endings;
    this.#elsewhere = options.elsewhere;
    this.#kept = options.kept;
    this.#log = options.log;
  }

  /** Decides the ending of what waits or runs; false where one was decided before. */
  cutShort(execution: ActiveExecution, status: EndedStatus, message: string): boolean {
    if (execution.decided !== null) return false;
    const { id, run } = execution;
    const hasWaited = run !== null && this.#abort(execution, run, message);
    if (hasWaited) this.#kept.release(execution);
    const ending = decide(id, status, message);
    if (hasWaited) this.leaveRun(execution);
    this.#endings.write(execution, ending);
    return true;
  }

  /** It could not be recorded: it is as if it had never been. */
  refuse(execution: ActiveExecution): void {
    execution.isRefused = true;
    if (execution.run !== null) this.#abort(execution, execution.run, "It was not recorded");
    // Nobody else tells its queue: what was not recorded is not handed over.
    this.leaveRun(execution);
    execution.queue?.ended(execution);
    this.#kept.release(execution);
    this.#active.delete(execution);
  }

  /** It had its turn and cannot run. */
  giveUp(execution: ActiveExecution, error: unknown): void {
    this.leaveRun(execution);
    // The service stops before its record could be read: it stays PENDING.
    if (this.#journal.isClosing && execution.decided === null) return;
    if (execution.decided === null)
      this.#log.error({ execution: execution.id, error: String(error) }, "Cannot start");
    this.#endings.write(execution, decide(execution.id, "ENDED_ERROR", "It could not be started"));
  }

  /** Whoever waits for it gets what is written elsewhere. */
  leave(execution: ActiveExecution): void {
    if (execution.isElsewhere) return;
    execution.isElsewhere = true;
    execution.decided ??= decide(execution.id, "ENDED_ERROR", "Another node has it");
    if (execution.run !== null) this.#abort(execution, execution.run, "Another node has it");
    this.leaveRun(execution);
    execution.queue?.ended(execution);
    this.#kept.release(execution);
    this.#active.delete(execution);
    this.#elsewhere.await(execution);
  }

  /** Its ending could not be written, because it is not here any more: a cancel goes after it. */
  leaveCancelled(execution: ActiveExecution): void {
    const { id, decided } = execution;
    this.leave(execution);
    if (decided?.status === "ENDED_CANCELLED")
      this.#elsewhere.insistCancel(id, decided.status_message ?? "");
  }

  /** It has no thread any more, or was never given one. */
  leaveRun(execution: ActiveExecution): void {
    const { run, queue } = execution;
    execution.run = null;
    if (run !== null) queue?.leave(run);
  }

  /** @returns whether it waited: then it is gone, without an ending */
  #abort(execution: ActiveExecution, run: Run, reason: string): boolean {
    if (run.link !== null && execution.queue?.leave(run)) return true;
    return this.#scheduler.abort(run, reason);
  }
}
