import type { SqliteFile } from "./sqlite.ts";

/** What crosses between the server and a thread of the store: plain data. */

/** One SQL statement with its values, made by Kysely. */
export interface Statement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** The unit fails with this code unless the statement changes at least one row. */
  readonly expect?: string;
}

/** Statements that are committed together or not at all. */
export type Unit = readonly Statement[];

export type Row = Record<string, unknown>;

/** Writer: the units of one commit, statements as [number of its text, values, expect]. */
export interface CommitRequest {
  readonly texts: readonly (readonly [number, string])[];
  readonly units: readonly (readonly (readonly [number, readonly unknown[], string?])[])[];
}

/** Rows changed by each statement of a unit, or why the unit was not committed. */
export type UnitResult = readonly number[] | UnitFault;

export interface UnitFault {
  /** `expect` of a statement, or SQLite's extended result code, e.g. SQLITE_CONSTRAINT_UNIQUE. */
  readonly code: string;
  readonly message: string;
}

/** Writer: give back free pages and keep the WAL small. */
export interface MaintainRequest {
  readonly maintain: true;
}

/** In bytes. */
export interface StoreSize {
  /** Pages in use; the file may be larger by its free pages. */
  readonly used: number;
  readonly free: number;
}

/** Reader: one query. */
export interface ReadRequest {
  readonly id: number;
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

export type ReadAnswer =
  | { readonly id: number; readonly rows: Row[] }
  | { readonly id: number; readonly fault: UnitFault };

export interface StoreThreadData {
  readonly role: "writer" | "reader";
  readonly file: SqliteFile;
}
