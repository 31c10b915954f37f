import { stat } from "node:fs";

/**
 * Native calls of all threads of a process share one pool: a flow that leaves long ones behind
 * would let everybody else's wait. A short one, asked again and again, tells how long.
 */
export class NativeProbe {
  #askedAt: number | null = null;

  /** Milliseconds that the latest call has waited without an answer; 0 where none is out. */
  get waitedMs(): number {
    return this.#askedAt === null ? 0 : Math.round(performance.now() - this.#askedAt);
  }

  /** Asks again, unless an answer is still to come. */
  ask(): void {
    if (this.#askedAt !== null) return;
    this.#askedAt = performance.now();
    stat(".", () => (this.#askedAt = null));
  }
}
