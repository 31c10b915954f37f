/** Of one pair; more would be no people any more. */
const MOST_WAITING = 100;

/** The attempts of one pair. */
interface Attempts {
  /** Asked about or checked now. */
  underWay: number;
  /** In the order in which they came; each is told whether it may ask again. */
  readonly waiting: ((mayAsk: boolean) => void)[];
}

/** An attempt counts as failed until it is checked: others of its pair wait for what comes of it. */
export class CheckTurns {
  readonly #pairs = new Map<string, Attempts>();

  /**
   * Resolves when the attempt may be checked; `end` has to follow.
   *
   * @param add asks for it; null: the limit of failures is reached
   * @param mayAskAgain after a while, where others may be checked at another service
   * @returns null where it is reached by what has failed; "crowded" where too many wait already
   */
  async begin<T extends object>(
    pair: string,
    add: () => Promise<T | null>,
    mayAskAgain: () => Promise<boolean>,
  ): Promise<T | null | "crowded"> {
    const attempts = this.#pairs.get(pair) ?? { underWay: 0, waiting: [] };
    this.#pairs.set(pair, attempts);
    attempts.underWay += 1;
    for (;;) {
      const added = await this.#ask(pair, add);
      if (added !== null) return added;
      // One asks for all: what waits here is asked for in its turn.
      if (attempts.underWay === 1 && (await this.#ask(pair, mayAskAgain))) continue;
      attempts.underWay -= 1;
      if (attempts.underWay === 0) return this.#refuse(pair, attempts);
      if (attempts.waiting.length >= MOST_WAITING) return "crowded";
      const { promise, resolve } = Promise.withResolvers<boolean>();
      attempts.waiting.push(resolve);
      if (!(await promise)) return null;
    }
  }

  /** Its turn goes to the next one. */
  end(pair: string): void {
    const attempts = this.#pairs.get(pair) as Attempts;
    const next = attempts.waiting.shift();
    if (next !== undefined) return next(true);
    attempts.underWay -= 1;
    if (attempts.underWay === 0) this.#pairs.delete(pair);
  }

  async #ask<T>(pair: string, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      this.end(pair);
      throw error;
    }
  }

  /** Nobody is left who could be right. */
  #refuse(pair: string, { waiting }: Attempts): null {
    this.#pairs.delete(pair);
    for (const tell of waiting) tell(false);
    return null;
  }
}
