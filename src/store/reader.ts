import { Worker } from "node:worker_threads";
import {
  type CompiledQuery,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from "kysely";
import { StoreFault } from "./fault.ts";
import { closeThread } from "./writer.ts";
import type { Closed, ReadAnswer, ReadRequest, Row, StoreThreadData } from "./thread-protocol.ts";

/** A thread that answers lists, statistics and exports, apart from the HTTP loop. */
export interface Reader {
  read(query: CompiledQuery): Promise<Row[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The thread starts with the first read: a service that only takes calls has no use for it. */
export function openReader(thread: string, data: StoreThreadData): Reader {
  const waiting = new Map<number, (answer: ReadAnswer) => void>();
  let last = 0;
  let worker: Worker | null = null;
  const start = (): Worker => {
    const started = new Worker(thread, { workerData: data, env: {}, execArgv: [] });
    started.on("message", (answer: ReadAnswer | Closed) => {
      if ("closed" in answer) return;
      waiting.get(answer.id)?.(answer);
      waiting.delete(answer.id);
    });
    started.on("error", ({ message }: Error) => {
      worker = null;
      const fault = { code: "READER_LOST", message: `The store's reader was lost: ${message}` };
      for (const [id, settle] of waiting) settle({ id, fault });
      waiting.clear();
    });
    return started;
  };
  return {
    read: ({ sql, parameters }) =>
      new Promise((resolve, reject) => {
        const request: ReadRequest = { id: ++last, sql, parameters };
        waiting.set(request.id, (answer) =>
          "rows" in answer ? resolve(answer.rows) : reject(new StoreFault(answer.fault)),
        );
        worker ??= start();
        worker.postMessage(request);
      }),
    async [Symbol.asyncDispose]() {
      if (worker !== null) await closeThread(worker);
    },
  };
}

/** Kysely over a reader: the queries are built here and answered in the thread. */
export class ReaderDialect implements Dialect {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  createAdapter(): SqliteAdapter {
    return new SqliteAdapter();
  }

  createDriver(): Driver {
    return toDriver(this.#reader);
  }

  createIntrospector(db: ConstructorParameters<typeof SqliteIntrospector>[0]): SqliteIntrospector {
    return new SqliteIntrospector(db);
  }

  createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler();
  }
}

function toDriver(reader: Reader): Driver {
  const connection: DatabaseConnection = {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      return { rows: (await reader.read(query)) as R[] };
    },
    streamQuery() {
      throw new Error("Cannot stream from the store's reader");
    },
  };
  const refuse = async (): Promise<void> => {
    throw new Error("Cannot write through the store's reader");
  };
  return {
    async init() {},
    acquireConnection: async () => connection,
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    async releaseConnection() {},
    async destroy() {},
  };
}
