import type { Kept } from "./kept-rows.ts";

/** One SQL statement with its values, made by Kysely. */
export interface Statement {
  readonly text: StatementText;
  readonly parameters: readonly unknown[];
}

/** A statement without its values. */
export interface StatementText {
  readonly sql: string;
  /** Of one that was prepared (prepared.ts): its text crosses to the writer once. */
  readonly number: number | null;
  /** The unit fails with this code unless the statement changes at least one row. */
  readonly expect: string | null;
  /** The kept rows that it changes. */
  readonly changes: Kept | null;
}

/** Statements that are committed together or not at all. */
export type Unit = readonly Statement[];

export type Row = Record<string, unknown>;
