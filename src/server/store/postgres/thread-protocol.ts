import type { LedgerEntry } from "../ledger-record.ts";
import type { Query } from "../read-queue.ts";
import type { Row } from "../statement.ts";
import type { SharedTask } from "../store.ts";
import type { UnitError } from "../store-error.ts";

/** What crosses between the server and the thread that speaks to PostgreSQL: plain data. */

export interface ThreadData {
  readonly url: string;
  readonly durability: "full" | "normal";
  /** Connections at most. */
  readonly connections: number;
  /** Longest read of a list, in milliseconds. */
  readonly listMs: number;
  /** The service may have it open too: no lock is taken, and nothing is recorded. */
  readonly isBeside: boolean;
  /** How the server's own lists of sessions name this one. */
  readonly name: string;
}

/** A query with its name, where it was prepared. */
export interface NamedQuery extends Query {
  readonly name: string | null;
}

/** One statement of a unit. */
export interface UnitStatement extends Query {
  readonly expect: string | null;
}

/** Each is answered once, by its id. */
export type Request = { readonly id: number } & (
  | { readonly query: NamedQuery }
  /** A list; `stop` ends it. */
  | { readonly list: Query }
  | { readonly unit: readonly UnitStatement[] }
  /** Records, on one of the lanes: each lane writes one batch after the other. */
  | { readonly records: readonly LedgerEntry[]; readonly lane: Lane }
  /** A task that only one service does at a time; `release` lets it go, by the id of this. */
  | { readonly hold: SharedTask; readonly isWaited: boolean }
  | { readonly release: number }
  | { readonly close: true }
);

export interface StopRequest {
  /** Id of a list. */
  readonly stop: number;
}

export type Lane = "begin" | "end" | "log";

/** Why a record was not written, by its place in the batch. */
export type RecordErrors = readonly (readonly [number, UnitError])[];

export type Answer = { readonly id: number } & (
  | { readonly rows: Row[] }
  | { readonly changes: readonly number[] }
  | { readonly errors: RecordErrors }
  | { readonly error: UnitError }
  | { readonly isHeld: boolean }
  | { readonly closed: true }
);

/** What the thread says by itself. */
export type Event =
  | { readonly opened: Opened }
  /** It cannot start. @see StartError */
  | { readonly refused: string; readonly exitCode: 1 | 78 }
  | { readonly line: string }
  /** Whether PostgreSQL can be reached. */
  | { readonly isReachable: boolean }
  /** Another service has the database now. */
  | { readonly taken: string };

/** What the store knows once it is open. */
export interface Opened {
  readonly moved: readonly { readonly id: string; readonly key: number }[];
  /** Of all executions; null without any. */
  readonly largestKey: number | null;
}
