import { HELD_MS, type Run, type Worker } from "../workers/worker.ts";
import type { Clock } from "./scheduler-clock.ts";

/** What stands behind a run that takes longer than this goes to another thread. */
const STALL_MS = 5;
/** So long a thread is waited for that was asked whether it has begun its run; a limit waits for that too. */
const ANSWER_MS = 25;

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
  /** Workers whose current run was asked for: `since` of that run, and when that was. */
  readonly #asked = new WeakMap<Worker, { readonly since: number; readonly at: number }>();

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
    if (took >= STALL_MS && worker.length > 1) this.#recallSoon(worker, run);
    let due = worker.since + Math.min(HELD_MS, run.timeoutMs);
    if (now >= due) {
      const askedAt = this.#recallUnbegunSoon(worker, run, now);
      due = Math.max(worker.since + run.timeoutMs, askedAt + ANSWER_MS);
      if (now >= due) this.#expireSoon(worker, run);
    }
    const soon = now + STALL_MS;
    this.#checkBy(worker.length > 1 ? soon : Math.max(due, soon));
  }

  /** As `#recallSoon`: it may have ended in time. */
  #expireSoon(worker: Worker, run: Run): void {
    this.#options.clock.soon(() => {
      if (worker.current === run && !worker.isEnding) run.expired();
    });
  }

  /** As `#recallSoon`. @returns when that was done first */
  #recallUnbegunSoon(worker: Worker, run: Run, now: number): number {
    this.#options.clock.soon(() => {
      if (worker.current === run) worker.recallUnbegun();
    });
    const { since } = worker;
    const before = this.#asked.get(worker);
    if (before?.since === since) return before.at;
    this.#asked.set(worker, { since, at: now });
    return now;
  }

  /** The server itself may have been late: what has come until now is read first. */
  #recallSoon(worker: Worker, run: Run): void {
    this.#options.clock.soon(() => {
      if (worker.current !== run || worker.isRecalling || worker.length < 2) return;
      this.#options.onStall(run);
      worker.recall();
    });
  }
}
