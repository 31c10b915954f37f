import { gone, ReadPlaces } from "./read-places.ts";
import type { Query, ReaderThread } from "./reader-thread.ts";
import type { Reading } from "./reading.ts";
import type { Row } from "./thread-protocol.ts";

interface Read {
  readonly query: Query;
  readonly reading: Reading | null;
  resolve(rows: Row[]): void;
  reject(error: unknown): void;
}

/** Threads that read: the second starts when the first is busy, so that short lists pass long ones. */
const MOST_THREADS = 2;

/**
 * Who reads next: first come first served, but of each user one at a time. What nobody waits for
 * any more is left out, or stopped.
 */
export class ReadQueue {
  readonly #start: () => ReaderThread;
  readonly #waiting: Read[] = [];
  readonly #running = new Map<ReaderThread, Read | null>();
  readonly #places = new ReadPlaces();

  constructor(start: () => ReaderThread) {
    this.#start = start;
  }

  /** @throws RequestError too_many_requests, or StoreError */
  async read(query: Query, reading: Reading | null): Promise<Row[]> {
    if (reading === null) return this.#wait(query, null);
    await this.#places.enter(reading);
    try {
      return await this.#wait(query, reading);
    } finally {
      this.#places.leave(reading);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((thread) => thread.close()));
  }

  #wait(query: Query, reading: Reading | null): Promise<Row[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Row[]>();
    const read: Read = { query, reading, resolve, reject };
    const stop = (): void => this.#stop(read);
    reading?.signal.addEventListener("abort", stop);
    this.#waiting.push(read);
    this.#next();
    return promise.finally(() => reading?.signal.removeEventListener("abort", stop));
  }

  #stop(read: Read): void {
    const at = this.#waiting.indexOf(read);
    if (at >= 0) this.#waiting.splice(at, 1);
    for (const [thread, running] of this.#running) if (running === read) thread.stop();
    read.reject(gone());
  }

  #next(): void {
    for (const read of this.#waiting) {
      if (this.#isReading(read.reading)) continue;
      const thread = this.#freeThread();
      if (thread === null) return;
      this.#waiting.splice(this.#waiting.indexOf(read), 1);
      return this.#run(thread, read);
    }
  }

  #run(thread: ReaderThread, read: Read): void {
    this.#running.set(thread, read);
    thread.read(read.query).then(
      (rows) => this.#ended(thread, () => read.resolve(rows)),
      (error: unknown) => this.#ended(thread, () => read.reject(error)),
    );
    this.#next();
  }

  #ended(thread: ReaderThread, tell: () => void): void {
    if (thread.isLost) this.#running.delete(thread);
    else this.#running.set(thread, null);
    tell();
    this.#next();
  }

  #isReading(reading: Reading | null): boolean {
    if (reading === null) return false;
    return [...this.#running.values()].some((read) => read?.reading?.user_id === reading.user_id);
  }

  #freeThread(): ReaderThread | null {
    for (const [thread, read] of this.#running) if (read === null) return thread;
    return this.#running.size < MOST_THREADS ? this.#start() : null;
  }
}
