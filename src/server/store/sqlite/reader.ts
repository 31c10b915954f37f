import {
  type CompiledQuery,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type Dialect,
  type Driver,
} from "kysely";
import { openQueryDriver } from "../query-driver.ts";
import { ReadQueue } from "../read-queue.ts";
import { ReaderThread } from "./reader-thread.ts";
import { currentReading } from "../reading.ts";
import type { Row } from "../statement.ts";
import type { SqliteFile } from "./connection.ts";

/** Threads that answer lists, statistics and exports, apart from the HTTP loop. */
export interface Reader {
  /** @throws RequestError too_many_requests, or StoreError */
  read(query: CompiledQuery): Promise<Row[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Longest read of a list, in milliseconds. */
const LIMIT_MS = 5000;

/** They start with the first read: a service that only takes calls has no use for them. */
export function openReader(thread: string, file: SqliteFile, limitMs = LIMIT_MS): Reader {
  const queue = new ReadQueue(() => new ReaderThread(thread, file, limitMs));
  return {
    read: (query) => queue.read(query, currentReading()),
    [Symbol.asyncDispose]: () => queue.close(),
  };
}

/** Kysely over a reader: the queries are built here and answered in the thread. */
export class ReaderDialect implements Dialect {
  readonly #reader: Reader;
  readonly #settled: () => Promise<unknown>;

  /** @param settled resolves once there is all that was acknowledged; then it is read */
  constructor(reader: Reader, settled: () => Promise<unknown>) {
    this.#reader = reader;
    this.#settled = settled;
  }

  createAdapter(): SqliteAdapter {
    return new ReaderAdapter();
  }

  createDriver(): Driver {
    return openQueryDriver(async (query) => {
      await this.#settled();
      return this.#reader.read(query);
    });
  }

  createIntrospector(db: ConstructorParameters<typeof SqliteIntrospector>[0]): SqliteIntrospector {
    return new SqliteIntrospector(db);
  }

  createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler();
  }
}

/** Several lists are read at the same time: who is next is the queue's to say. */
class ReaderAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}
