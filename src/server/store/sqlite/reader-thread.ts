import { Worker } from "node:worker_threads";
import { StoreError } from "../store-error.ts";
import type { Row } from "../statement.ts";
import type { SqliteFile } from "./connection.ts";
import type { Closed, OpenRequest, ReadAnswer, ReadRequest } from "./thread-protocol.ts";
import type { ListReader, Query } from "../read-queue.ts";
import { closeThread } from "./writer.ts";

interface Waiting {
  resolve(rows: Row[]): void;
  reject(error: Error): void;
}

/** A thread that reads one list at a time, apart from the HTTP loop. */
export class ReaderThread implements ListReader {
  readonly #worker: Worker;
  readonly #limitMs: number;
  /** The number of the read that is to stop; the thread looks at it while it reads. */
  readonly #stopped = new Int32Array(new SharedArrayBuffer(4));
  #number = 0;
  #waiting: Waiting | null = null;
  isLost = false;

  /** @param limit_ms longest read */
  constructor(thread: string, file: SqliteFile, limitMs: number) {
    this.#limitMs = limitMs;
    this.#worker = new Worker(thread, { name: "store reader", env: {}, execArgv: [] });
    const request: OpenRequest = { role: "reader", file, stopped: this.#stopped };
    this.#worker.postMessage(request);
    this.#worker.on("message", (answer: ReadAnswer | Closed) => {
      if ("closed" in answer) return;
      const waiting = this.#take();
      if ("rows" in answer) waiting?.resolve(answer.rows);
      else waiting?.reject(new StoreError(answer.error));
    });
    this.#worker.on("error", ({ message }: Error) => {
      this.isLost = true;
      const lost = { kind: "other", code: "READER_LOST" } as const;
      const error = { ...lost, message: `The store's reader was lost: ${message}` };
      this.#take()?.reject(new StoreError(error));
    });
  }

  read({ sql, parameters }: Query): Promise<Row[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Row[]>();
    this.#waiting = { resolve, reject };
    const request: ReadRequest = {
      id: (this.#number += 1),
      sql,
      parameters,
      limitMs: this.#limitMs,
    };
    this.#worker.postMessage(request);
    return promise;
  }

  stop(): void {
    Atomics.store(this.#stopped, 0, this.#number);
  }

  close(): Promise<void> {
    return closeThread(this.#worker);
  }

  #take(): Waiting | null {
    const waiting = this.#waiting;
    this.#waiting = null;
    return waiting;
  }
}
