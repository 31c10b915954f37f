/** Runs up to this length together are given to a thread at once; milliseconds. */
const TOGETHER_MS = 0.8;
const MOST_TOGETHER = 16;
/** What is given to a thread that has a run already ends within so long. */
const BEHIND_MS = 4;
/** Weight of the latest run in the average. */
const WEIGHT = 0.1;

/** How long the runs of a flow take in their threads: an average that follows the latest. */
export class RunTime {
  #mean: number | null = null;

  /** 0 before the first. */
  get meanMs(): number {
    return this.#mean ?? 0;
  }

  /** @param ms of one run, in its thread */
  learn(ms: number): void {
    this.#mean = (this.#mean ?? ms) * (1 - WEIGHT) + ms * WEIGHT;
  }

  /** A run takes longer than was expected: until others have ended, each gets its own thread. */
  slowDown(): void {
    this.#mean = Math.max(this.#mean ?? 0, TOGETHER_MS);
  }

  /**
   * How many runs are given to a thread together. Waking another thread costs more than several of
   * the shortest runs take; of longer runs each is better off with a thread of its own.
   */
  get together(): number {
    if (this.#mean === null) return 1;
    const count = Math.floor(TOGETHER_MS / Math.max(this.#mean, TOGETHER_MS / MOST_TOGETHER));
    return Math.max(1, count);
  }

  /** How many runs a thread has at most, with the current one, so that it need not wait for more. */
  get behind(): number {
    if (this.#mean === null) return 1;
    const behind = Math.floor(BEHIND_MS / this.#mean);
    return Math.min(2 * MOST_TOGETHER, 1 + behind);
  }
}
