import { HELD_MS, type Run, type Worker } from "../workers/worker.ts";
import type { Clock } from "./scheduler-clock.ts";

/** What stands behind a run that takes longer than this goes to another thread. */
const STALL_MS = 5;

export interface DeadlinesOptions {
  readonly clock: Clock;
  /** CANCEL_GRACE_SEC, in milliseconds. */
  readonly cancelGraceMs: number;
  listWorkers(): Iterable<Worker>;
  /** A run takes longer than was expected. */
  onStall(run: Run): void;
}

/**
 * The time limits of what has a thread: a run's own, which begins when it begins; the grace of one
 * that was told to end, after which its thread is ended; and the patience of what stands behind, or has
 * not begun.
 */
export class Deadlines {
  readonly #options: DeadlinesOptions;
  /** When the workers are looked at next, and how that is forgotten. */
  #checkAt = Infinity;
  #forget: () => void = () => {};

  constructor(options: DeadlinesOptions) {
    this.#options = options;
  }

  /** Runs were handed over to a worker. */
  watch(worker: Worker): void {
    const { since, length, current } = worker;
    if (current === null) return;
    this.#checkBy(since + (length > 1 ? STALL_MS : Math.min(HELD_MS, current.timeoutMs)));
  }

  /** Tells the current run of a worker to end; what stands behind it does not wait for that. */
  abort(worker: Worker): void {
    worker.abort(worker.current?.abortReason ?? "");
    worker.recall();
    this.#checkBy(worker.since + this.#options.cancelGraceMs);
  }

  close(): void {
    this.#forget();
    this.#checkAt = -Infinity;
  }

  #checkBy(due: number): void {
    // A timer is not set anew for less than it is late by.
    if (due >= this.#checkAt - 1) return;
    this.#forget();
    this.#checkAt = due;
    const { clock } = this.#options;
    this.#forget = clock.after(Math.max(0, due - clock.now()), () => this.#check());
  }

  #check(): void {
    this.#checkAt = Infinity;
    const now = this.#options.clock.now();
    for (const worker of this.#options.listWorkers()) {
      const { current } = worker;
      if (current === null || worker.isEnding) continue;
      this.#enforce(worker, current, now);
    }
  }

  #enforce(worker: Worker, run: Run, now: number): void {
    const took = now - worker.since;
    if (worker.isAborting) {
      if (took >= this.#options.cancelGraceMs) worker.end();
      return this.#checkBy(worker.since + this.#options.cancelGraceMs);
    }
    if (took >= Math.min(STALL_MS, run.timeoutMs)) this.#actSoon(worker, run, took);
    const soon = now + STALL_MS;
    const dueMs = took < HELD_MS ? Math.min(HELD_MS, run.timeoutMs) : run.timeoutMs;
    this.#checkBy(worker.length > 1 ? soon : Math.max(worker.since + dueMs, soon));
  }

  /** The server itself may have been late: what has come until now is read first. */
  #actSoon(worker: Worker, run: Run, took: number): void {
    this.#options.clock.soon(() => {
      if (worker.current !== run) return;
      if (took >= run.timeoutMs && !worker.isEnding) run.expired();
      if (took >= STALL_MS && worker.length > 1 && !worker.isRecalling) {
        this.#options.onStall(run);
        worker.recall();
      }
      if (took >= HELD_MS) worker.recallUnbegun();
    });
  }
}
