/** Operations that are begun in one turn of the event loop, of all threads together. */
const MOST_IN_TURN = 8;

/**
 * Begins the operations of threads, some in each turn of the event loop, so that calls are served
 * between them however many flows ask. Threads take turns; those of one thread begin in their order.
 */
export class OperationTurns {
  readonly #waiting = new Map<object, (() => void)[]>();
  #left = MOST_IN_TURN;
  #isScheduled = false;

  add(thread: object, begin: () => void): void {
    this.#schedule();
    if (this.#left > 0) return this.#begin(begin);
    const waiting = this.#waiting.get(thread);
    if (waiting === undefined) this.#waiting.set(thread, [begin]);
    else waiting.push(begin);
  }

  /** Begins what waits of a thread. */
  hurry(thread: object): void {
    const waiting = this.#waiting.get(thread) ?? [];
    this.#waiting.delete(thread);
    for (const begin of waiting) begin();
  }

  #begin(begin: () => void): void {
    this.#left -= 1;
    begin();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    this.#left = MOST_IN_TURN;
    for (const [thread, waiting] of this.#waiting) {
      if (this.#left === 0) break;
      // Set again, it stands last.
      this.#waiting.delete(thread);
      this.#begin(waiting.shift() as () => void);
      if (waiting.length > 0) this.#waiting.set(thread, waiting);
    }
    if (this.#waiting.size > 0) this.#schedule();
  }
}
