/** Time as the scheduler knows it; a made-up one in its tests. */
export interface Clock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** @returns forgets it */
  after(ms: number, act: () => void): () => void;
  /** Once what has come in the meantime was read. */
  soon(act: () => void): void;
}

/** The real one. */
export const CLOCK: Clock = {
  now: () => performance.now(),
  after(ms, act) {
    // The longest that a timer can wait: whoever is due later is looked at again.
    const timer = setTimeout(act, Math.min(ms, 2 ** 31 - 1)).unref();
    return () => clearTimeout(timer);
  },
  soon: (act) => void setImmediate(act),
};
