import type { FlowThread } from "./flow-thread.ts";

/** The threads of one pool, and which of them have nothing to do. */
export class FlowThreads {
  readonly #most: number;
  readonly #start: () => FlowThread;
  readonly #all = new Set<FlowThread>();
  readonly #starting = new Set<FlowThread>();
  /** The one that was busy last is taken first: its caches are warm, and the others may go. */
  readonly #idle: FlowThread[] = [];

  /**
   * @param most threads at the same time
   * @param start starts one, which is to be freed once it takes runs
   */
  constructor(most: number, start: () => FlowThread) {
    this.#most = most;
    this.#start = start;
  }

  get size(): number {
    return this.#all.size;
  }

  /** One that is idle; it is not any more. */
  take(): FlowThread | undefined {
    return this.#idle.pop();
  }

  /** It has nothing to do. Nothing happens where it was let go meanwhile. */
  free(thread: FlowThread): void {
    if (!this.#all.has(thread)) return;
    this.#starting.delete(thread);
    thread.idle_since = performance.now();
    this.#idle.push(thread);
  }

  /** Starts further ones until so many are on their way, as far as there may be. */
  grow(wanted: number): void {
    while (this.#starting.size < wanted && this.#all.size < this.#most) {
      const thread = this.#start();
      this.#all.add(thread);
      this.#starting.add(thread);
    }
  }

  /** Starts one unless one is idle or on its way. */
  keepOne(): void {
    if (this.#idle.length === 0) this.grow(1);
  }

  isStarting(thread: FlowThread): boolean {
    return this.#starting.has(thread);
  }

  forget(thread: FlowThread): void {
    this.#all.delete(thread);
    this.#starting.delete(thread);
    const at = this.#idle.indexOf(thread);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  /** Those that have been idle since before a time, as performance.now(). */
  idleBefore(time: number): FlowThread[] {
    return this.#idle.filter(({ idle_since }) => idle_since < time);
  }

  [Symbol.iterator](): Iterator<FlowThread> {
    return this.#all.values();
  }
}
