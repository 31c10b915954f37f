import { gone, ReadPlaces } from "./read-places.ts";
import type { Reading } from "./reading.ts";
import type { Row } from "./statement.ts";

/** A list that is to be read. */
export interface Query {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** Reads one list at a time, apart from the HTTP loop. */
export interface ListReader {
  /** It is gone, and another one takes its place. */
  readonly isLost: boolean;
  /** @throws StoreError */
  read(query: Query): Promise<Row[]>;
  /** Ends what is being read, with an error. */
  stop(): void;
  close(): Promise<void>;
}

interface Read {
  readonly query: Query;
  readonly reading: Reading | null;
  resolve(rows: Row[]): void;
  reject(error: unknown): void;
}

/** Readers: the second starts when the first is busy, so that short lists pass long ones. */
const MOST_READERS = 2;

/**
 * Who reads next: first come first served, but of each user one at a time. What nobody waits for
 * any more is left out, or stopped.
 */
export class ReadQueue {
  readonly #start: () => ListReader;
  readonly #waiting: Read[] = [];
  readonly #running = new Map<ListReader, Read | null>();
  readonly #places = new ReadPlaces();

  constructor(start: () => ListReader) {
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
    await Promise.all([...this.#running.keys()].map((reader) => reader.close()));
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
    for (const [reader, running] of this.#running) if (running === read) reader.stop();
    read.reject(gone());
  }

  #next(): void {
    for (const read of this.#waiting) {
      if (this.#isReading(read.reading)) continue;
      const reader = this.#freeReader();
      if (reader === null) return;
      this.#waiting.splice(this.#waiting.indexOf(read), 1);
      return this.#run(reader, read);
    }
  }

  #run(reader: ListReader, read: Read): void {
    this.#running.set(reader, read);
    reader.read(read.query).then(
      (rows) => this.#ended(reader, () => read.resolve(rows)),
      (error: unknown) => this.#ended(reader, () => read.reject(error)),
    );
    this.#next();
  }

  #ended(reader: ListReader, tell: () => void): void {
    if (reader.isLost) this.#running.delete(reader);
    else this.#running.set(reader, null);
    tell();
    this.#next();
  }

  #isReading(reading: Reading | null): boolean {
    if (reading === null) return false;
    return [...this.#running.values()].some((read) => read?.reading?.user_id === reading.user_id);
  }

  #freeReader(): ListReader | null {
    for (const [reader, read] of this.#running) if (read === null) return reader;
    return this.#running.size < MOST_READERS ? this.#start() : null;
  }
}
