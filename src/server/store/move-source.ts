import type { Schema } from "./schema.ts";

/** What a move takes from one store into another. */

/**
 * Which tables it takes, in an order in which no row comes before one that it refers to. The rest
 * is what each store makes or knows by itself: its migrations, how far its ledger is applied, the
 * check of the data key, and what nodes tell each other.
 */
const IS_MOVED: Readonly<Record<keyof Schema, boolean>> = {
  project: true,
  role: true,
  user: true,
  user_role: true,
  token: true,
  secret: true,
  webhook: true,
  webhook_secret: true,
  setting: true,
  connection_usage: true,
  execution: true,
  execution_moved: true,
  execution_claim: true,
  execution_input: true,
  execution_output: true,
  execution_log: true,
  audit: true,
  migration: false,
  ledger: false,
  key_check: false,
  node: false,
  node_flow: false,
  flow_file: false,
  flow_version: false,
  flow_offers: false,
  attempt: false,
  refused_call: false,
};

const TABLES = Object.keys(IS_MOVED) as (keyof Schema)[];

export const MOVED_TABLES: readonly (keyof Schema)[] = TABLES.filter((name) => IS_MOVED[name]);

/** A table as the store has it that is moved. */
export interface MovedTable {
  readonly name: keyof Schema;
  readonly columns: readonly string[];
  /** Columns of its primary key: the order of its rows. */
  readonly key: readonly string[];
  readonly count: number;
  /** The last number that one of its rows was given; null: they are not numbered. */
  readonly lastNumber: number | null;
}

/** The store that is moved: nothing changes in it any more. */
export interface MoveSource extends Disposable {
  readonly tables: readonly MovedTable[];
  /** Executions that were in a thread when the service stopped: they have ended by now. */
  readonly interrupted: number;
  /** Executions that the next start runs. */
  readonly waiting: number;
  readonly secrets: readonly { readonly name: string; readonly sealed: string }[];
  /** Values of its columns, row by row. */
  rows(table: MovedTable): Iterable<readonly unknown[]>;
}
