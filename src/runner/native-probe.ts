import { stat } from "node:fs";

/**
 * Native calls of all threads of a process share one pool: a flow that leaves long ones behind
 * would let everybody else's wait. A short one, asked again and again, tells how long.
 */
export class NativeProbe {
  #asked_at: number | null = null;

  /** Milliseconds that the latest call has waited without an answer; 0 where none is out. */
  get waited_ms(): number {
    return this.#asked_at === null ? 0 : Math.round(performance.now() - this.#asked_at);
  }

  /** Asks again, unless an answer is still to come. */
  ask(): void {
    if (this.#asked_at !== null) return;
    this.#asked_at = performance.now();
    stat(".", () => (this.#asked_at = null));
  }
}
