/** How long a flow's runs take in its threads, and so how many are given to a thread together. */
export class Pace {
  /** Mean of the latest, in milliseconds; null before the first. */
  #mean: number | null = null;

  /** @param ms of one run, in the thread */
  learn(ms: number): void {
    this.#mean = (this.#mean ?? ms) * 0.9 + ms * 0.1;
  }

  /** A run takes longer than was expected: until others have ended, each gets its own thread. */
  slowDown(): void {
    this.#mean = TOGETHER_MS;
  }

  /**
   * Runs for one thread. To wake another costs more than some of the shortest take; of longer ones
   * each is better off with a thread of its own.
   */
  together(): number {
    if (this.#mean === null) return 1;
    const count = Math.floor(TOGETHER_MS / Math.max(this.#mean, TOGETHER_MS / MOST_TOGETHER));
    return Math.max(1, count);
  }
}

const TOGETHER_MS = 0.8;
const MOST_TOGETHER = 16;
