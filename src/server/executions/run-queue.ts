import type { Run, RunLink } from "../workers/worker.ts";

/** Runs in the order of their turns: a linked list, so that any of them leaves at once. */
export class RunQueue {
  #first: RunLink | null = null;
  #last: RunLink | null = null;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get first(): Run | null {
    return this.#first?.run ?? null;
  }

  push(run: Run): void {
    this.#insert(run, this.#last, null);
  }

  /** Puts a run before those that came last and are to be after it: few, where it was here before. */
  insert(run: Run, isAfter: (other: Run) => boolean): void {
    let next: RunLink | null = null;
    let previous = this.#last;
    for (; previous !== null && isAfter(previous.run); previous = previous.previous)
      next = previous;
    this.#insert(run, previous, next);
  }

  /** Puts runs before all others, in their order. */
  unshift(runs: readonly Run[]): void {
    for (const run of runs.toReversed()) this.#insert(run, null, this.#first);
  }

  /** Takes the first runs that fit, up to a number. */
  take(most: number, fits: (run: Run) => boolean): Run[] {
    const taken: Run[] = [];
    for (let next = this.first; next !== null && taken.length < most; next = this.first) {
      if (!fits(next)) break;
      this.remove(next);
      taken.push(next);
    }
    return taken;
  }

  /** False where it does not stand in this queue. */
  remove(run: Run): boolean {
    const { link } = run;
    if (link === null || link.queue !== this) return false;
    if (link.previous === null) this.#first = link.next;
    else link.previous.next = link.next;
    if (link.next === null) this.#last = link.previous;
    else link.next.previous = link.previous;
    run.link = null;
    this.#length -= 1;
    return true;
  }

  *[Symbol.iterator](): Iterator<Run> {
    for (let link = this.#first; link !== null; link = link.next) yield link.run;
  }

  #insert(run: Run, previous: RunLink | null, next: RunLink | null): void {
    const link: RunLink = { run, queue: this, previous, next };
    if (previous === null) this.#first = link;
    else previous.next = link;
    if (next === null) this.#last = link;
    else next.previous = link;
    run.link = link;
    this.#length += 1;
  }
}
