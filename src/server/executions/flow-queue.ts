import type { Ending, FlowSpec } from "../../shared/wire/protocol.ts";
import type { Run, Worker } from "../workers/worker.ts";
import { Renewals } from "./renewals.ts";
import { RunQueue } from "./run-queue.ts";
import { RunTime } from "./run-time.ts";

/** One flow as the scheduler sees it: its runs that wait, and its threads. */
export class FlowQueue {
  readonly runs = new RunQueue();
  readonly time = new RunTime();
  readonly renewals = new Renewals();
  readonly workers: Worker[] = [];
  /**
   * Those without a run; the one that has been idle longest first. The one that was busy last is
   * taken first: its caches are warm.
   */
  readonly idle: Worker[] = [];
  /** Workers that count against the limits: they have a run, are given one, or start. */
  slots = 0;
  /** Since when runs have waited for a thread that may not start yet, on the scheduler's clock. */
  shortSince: number | null = null;

  /** @returns whether it was one of the flow's */
  remove(worker: Worker): boolean {
    drop(this.idle, worker);
    return drop(this.workers, worker);
  }

  /**
   * No thread of a version can start: its next run fails.
   *
   * @param lender whose slot the thread has; then it is what that one waits for
   */
  failNext(key: string, ending: Ending, lender: Worker | null): void {
    const isAwaited = (run: Run): boolean => run.spec.key === key && this.runs.remove(run);
    const run = lender === null ? this.take(key, 1)[0] : lender.awaited.values().find(isAwaited);
    run?.ended(ending);
  }

  /** How many runs a thread is given at once: each of `isolation: "execution"` has one of its own. */
  togetherOf({ isolation }: FlowSpec): number {
    return isolation === "execution" ? 1 : this.time.together;
  }

  /** Takes the next runs of a version, one at least where that is next. */
  take(key: string, most: number): Run[] {
    return this.runs.take(Math.max(1, most), ({ spec }) => spec.key === key);
  }

  /** Whether it has a thread of a version, or one that starts. */
  has(key: string): boolean {
    return this.workers.some(({ spec, isEnding }) => spec.key === key && !isEnding);
  }

  /** An idle worker of a version, which is idle no longer. */
  takeIdle(key: string): Worker | undefined {
    for (let at = this.idle.length - 1; at >= 0; at -= 1) {
      const worker = this.idle[at] as Worker;
      if (worker.spec.key !== key || !worker.isOpen) continue;
      this.idle.splice(at, 1);
      return worker;
    }
    return undefined;
  }

  /**
   * The worker of a version with the fewest runs, where it may have another: not where it has to give
   * another's slot back.
   */
  findShortest(key: string, most: number): Worker | undefined {
    let found: Worker | undefined;
    let fewest = most;
    for (const worker of this.workers) {
      if (worker.spec.key !== key || !worker.isOpen || !worker.isBusy) continue;
      if (worker.lender !== null) continue;
      const length = worker.length + worker.reserved;
      if (length >= fewest) continue;
      found = worker;
      fewest = length;
    }
    return found;
  }

  /** Runs that wait and have no worker that starts for them. */
  get uncovered(): number {
    let uncovered = this.runs.length;
    for (const worker of this.workers) if (worker.isStarting) uncovered -= 1;
    return Math.max(0, uncovered);
  }

  /** Workers that start, and for which no run waits. */
  get spare(): number {
    let spare = -this.runs.length;
    // What another one waits for has the thread that starts beside it.
    for (const { isStarting, lender } of this.workers)
      if (isStarting && lender === null) spare += 1;
    return Math.max(0, spare);
  }

  /** Workers of a version that start. */
  countStarting(key: string): number {
    let count = 0;
    for (const worker of this.workers) if (worker.isStarting && worker.spec.key === key) count += 1;
    return count;
  }
}

function drop<Item>(list: Item[], item: Item): boolean {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
  return at >= 0;
}
