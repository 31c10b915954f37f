/** Seconds: from what a warm thread answers to the longest limits of runs. */
export const BOUNDS = [
  0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600,
] as const;

/** How often something took how long. */
export class Histogram {
  readonly #counts: number[] = Array.from({ length: BOUNDS.length + 1 }, () => 0);
  #sum = 0;

  /** Up to each bound from the one before it, and beyond the last. */
  get counts(): readonly number[] {
    return this.#counts;
  }

  /** All seconds together. */
  get sum(): number {
    return this.#sum;
  }

  /** @param seconds less than none (the clock was set back) counts as none */
  observe(seconds: number): void {
    let at = 0;
    while (at < BOUNDS.length && seconds > (BOUNDS[at] as number)) at += 1;
    (this.#counts[at] as number) += 1;
    if (seconds > 0) this.#sum += seconds;
  }
}
