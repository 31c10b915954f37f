import type { Kysely, RawBuilder, SqlBool } from "kysely";
import type { Kept } from "./kept-rows.ts";
import type { Ledger } from "./ledger.ts";
import type { StoreNode } from "./node.ts";
import type { Schema } from "./schema.ts";
import type { SharedStore } from "./shared-store.ts";
import type { Statement, Unit } from "./statement.ts";

/** Everything that is configured, and executions: the rest of the server knows no more of it. */
export interface Store {
  /** Few rows, answered at once; also builds the statements of a unit. */
  readonly rows: Kysely<Schema>;
  /** The first row of a prepared statement: what each call asks. @throws StoreError */
  find<Row>(statement: Statement): Promise<Row | undefined>;
  /**
   * A row of a table that changes seldom; see kept-rows.ts.
   *
   * @param ask reads it where it is not kept
   */
  findKept<Row extends object>(
    kept: Kept,
    name: string,
    ask: (name: string) => Statement,
  ): Promise<Readonly<Row> | undefined>;
  /** Lists, statistics and exports, which may look at many rows; see reading.ts. */
  readonly lists: Kysely<Schema>;
  /** What each store says in its own words. */
  readonly dialect: StoreDialect;
  /**
   * Resolves after the commit with the rows changed by each statement.
   *
   * @throws StoreError where nothing of the unit was committed
   */
  commit(unit: Unit): Promise<readonly number[]>;
  /** What the life of executions is written to first. */
  readonly ledger: Ledger;
  /** null: no other service shares this store. */
  readonly node: StoreNode | null;
  /**
   * Before executions are read: resolves once the tables have all that the ledger has now.
   *
   * @returns whether they have: not where the store cannot be written just now
   */
  settled(): Promise<boolean>;
  /** Gives back what deleted rows took, as far as it takes no time, once a minute. */
  maintain(): Promise<StoreSize>;
  /** What was written since the start, of its tables and of the ledger. */
  counts(): { commits: number; units: number };
  /** Of its files, and of the disk that they are on. */
  fileSizes(): Promise<FileSizes>;
  /** What services on one store do together; null: this one has the store alone. */
  readonly shared: SharedStore | null;
  /** Since when it cannot be reached, as performance.now(); null: it can. */
  readonly awaySince: number | null;
  [Symbol.asyncDispose](): Promise<void>;
}

/** SQL that Kysely has no words for, and that each store says otherwise. */
export interface StoreDialect {
  /** Most rows that one list counts: more could take longer than a list may; null: all. */
  readonly countedAtOnce: number | null;
  /** The first condition of a list that may look at many rows: ends it once nobody waits for it. */
  whileWanted(): RawBuilder<SqlBool>;
  /** Whether a column contains a text, whatever its case. */
  contains(column: RawBuilder<string>, text: string): RawBuilder<SqlBool>;
  /** So many of a hundred values are at most this one of them, however few there are. */
  percentile(value: RawBuilder<number>, percent: number): RawBuilder<number | null>;
}

/** In bytes. */
export interface StoreSize {
  /** What rows take; the files may be larger by what is free. */
  readonly used: number;
  readonly free: number;
  /** Whether more can be given back to the disk soon: much is free, and no reader is in the way. */
  readonly more: boolean;
}

/** What the store takes of its disk, and what that has; in bytes, null where it cannot be told. */
export interface FileSizes {
  readonly database: number | null;
  readonly wal: number | null;
  /** Of the records that are not in the tables yet. */
  readonly ledger: number;
  /** For the user that the service runs as. */
  readonly free: number | null;
  readonly disk: number | null;
}
