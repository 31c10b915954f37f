/** Flow versions that took a runner down: each runs from then on in a runner of its own. */

/** So many times in the window make a version broken. */
export const STRIKES = 3;
const WINDOW_MS = 10 * 60_000;

export interface Suspects {
  has(key: string): boolean;
  /** @returns true where this was the last time that is put up with */
  strike(key: string, at: number): boolean;
  /** It starts anew: loaded again by hand. It keeps its own runner. */
  clear(key: string): void;
}

export function makeSuspects(): Suspects {
  const strikes = new Map<string, number[]>();
  return {
    has: (key) => strikes.has(key),
    strike(key, at) {
      const recent = [...(strikes.get(key) ?? []), at].filter((time) => at - time < WINDOW_MS);
      strikes.set(key, recent);
      return recent.length >= STRIKES;
    },
    clear(key) {
      if (strikes.has(key)) strikes.set(key, []);
    },
  };
}
