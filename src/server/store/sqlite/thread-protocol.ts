import type { Row, StatementText } from "../statement.ts";
import type { UnitError } from "../store-error.ts";
import type { SqliteFile } from "./connection.ts";

/** What crosses between the server and a thread of the store: plain data. */

/**
 * Writer: the units of one commit. Flat, because a tree of small lists costs more to clone than
 * what is in it.
 */
export interface CommitRequest {
  /** Prepared ones that have not crossed before. */
  readonly prepared: readonly StatementText[];
  /** Those for this commit alone. */
  readonly once: readonly StatementText[];
  /** Statements in each unit. */
  readonly sizes: readonly number[];
  /**
   * For each statement the number of its text (of one in `once`, its place there counted from -1
   * downwards), how many values it has, and the values.
   */
  readonly values: readonly unknown[];
}

export interface CommitResult {
  /** Rows changed by each statement; of a unit that was not committed, zeros. */
  readonly changes: readonly number[];
  /** Why a unit was not committed, by its number. */
  readonly errors: ReadonlyMap<number, UnitError> | null;
}

/** Writer: make rows of the tables of what the ledger has, up to a row of it. */
export interface ApplyRequest {
  readonly apply: number;
}

export interface Applied {
  /** The last row of the ledger that was applied: of many, there is another time. */
  readonly applied: number;
  /** Why records were passed over. */
  readonly skipped: readonly string[];
}

/** Writer: have on disk what was applied. */
export interface SyncRequest {
  readonly sync: true;
}

/** Writer: what it answers each request but commits with, in their order. */
export type Answered = { readonly answer: unknown } | { readonly error: UnitError };

/** Writer: give back free pages and keep the WAL small. */
export interface MaintainRequest {
  readonly maintain: true;
}

/**
 * Both: close the connection, and say so. A thread that is terminated while it is in SQLite takes
 * the whole process with it.
 */
export interface CloseRequest {
  readonly close: true;
}

export interface Closed {
  readonly closed: true;
}

/** Reader: one query. */
export interface ReadRequest {
  readonly id: number;
  readonly sql: string;
  readonly parameters: readonly unknown[];
  readonly limitMs: number;
}

export type ReadAnswer =
  | { readonly id: number; readonly rows: Row[] }
  | { readonly id: number; readonly error: UnitError };

/** The first message. A thread may be started before that is known. */
export interface OpenRequest {
  readonly role: "writer" | "reader";
  readonly file: SqliteFile;
  /** Reader: holds the number of the read that is to stop, in memory that both sides see. */
  readonly stopped?: Int32Array;
}
