import type { ExecutionRow } from "../execution-row.ts";
import type { Interrupted } from "../interrupted.ts";
import type { LedgerEntry } from "../ledger-record.ts";
import type { NodeFigures, Startable, Swept, Wanted } from "../node.ts";
import type { Query } from "../read-queue.ts";
import type { Row } from "../statement.ts";
import type { SharedTask } from "../shared-store.ts";
import type { UnitError } from "../store-error.ts";

/** What crosses between the server and the thread that speaks to PostgreSQL: plain data. */

export interface ThreadData {
  readonly url: string;
  readonly durability: "full" | "normal";
  /** Connections at most. */
  readonly connections: number;
  /** Longest read of a list, in milliseconds. */
  readonly listMs: number;
  /** Connections of a month at most; null: they are only counted. */
  readonly allowance: number | null;
  /** A service may have it open too: it is no node, and nothing is recorded. */
  readonly isBeside: boolean;
  readonly node: NodeData;
  /** How the server's own lists of sessions name this one. */
  readonly name: string;
}

/** What a node tells of itself when it joins. */
export interface NodeData {
  /** NODE_NAME. */
  readonly name: string;
  readonly version: string;
  /** The number in DATA_DIR/node.id, and where its lock lies: a copy has the number alone. */
  readonly folderId: string;
  readonly folderPlace: string;
  /** NODE_LEASE_SEC. */
  readonly leaseMs: number;
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
  | NodeAct
  | { readonly close: true }
);

/** What it does as a node. */
export type NodeAct =
  | { readonly renew: NodeFigures }
  | { readonly sweep: true }
  | { readonly tellAwaited: readonly string[]; readonly left: readonly string[] }
  | { readonly tellWaiting: true }
  | { readonly isAwaited: string }
  | { readonly listLost: readonly string[] }
  | { readonly listWaiting: true }
  | { readonly endUnserved: readonly string[] }
  | { readonly take: Wanted }
  | { readonly listStartable: readonly string[] }
  | { readonly rejoin: true }
  | { readonly leave: true };

/** Not answered: by how much the machine's clock is behind that of the database, in milliseconds. */
export interface ClockRequest {
  readonly behindMs: number;
}

/** Not answered: the service stops, and nothing is tried for long any more. */
export interface HurryRequest {
  readonly hurry: true;
}

export interface StopRequest {
  /** Id of a list. */
  readonly stop: number;
}

export type Lane = "begin" | "end" | "log";

/** What is written at once at most: records, and texts in UTF-16 units. A statement has its limits too. */
export const MOST_OF_BATCH = { records: 500, length: 16 * 1024 * 1024 } as const;

/** What became of a batch of records. */
export interface Recorded {
  /** Why a record was not written, by its place in the batch. */
  readonly errors: readonly (readonly [number, UnitError])[];
  /** Executions that are no longer this node's, or have ended: nothing was written of those. */
  readonly overtaken: readonly string[];
  /** Executions that were not started: as many of their webhook run as may. */
  readonly heldBack: readonly string[];
}

/** What became of records that a lane was asked to write. */
export interface Written extends Recorded {
  /** Batches that it was: none where it was one with what was asked before. */
  readonly batches: number;
}

export type Answer = { readonly id: number } & (
  | { readonly rows: Row[] }
  | { readonly changes: readonly number[] }
  | Written
  | { readonly renewed: Renewed }
  | { readonly swept: Swept | null }
  | { readonly told: true }
  | { readonly isAwaited: boolean }
  | { readonly names: string[] }
  | { readonly ended: number }
  | { readonly taken: ExecutionRow[] }
  | { readonly startable: readonly Startable[] }
  | { readonly joined: Joined }
  | { readonly left: readonly Interrupted[] }
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
  /** Why PostgreSQL cannot be reached, once for each reason; null: it can again. */
  | { readonly away: string | null }
  /** Another node has told that more waits there than it can run. */
  | { readonly isWaiting: true }
  /** How many other nodes live. */
  | { readonly others: number };

/** What the store knows once it is open. */
export interface Opened {
  readonly moved: readonly { readonly id: string; readonly key: number }[];
  /** null: it is no node. */
  readonly joined: Joined | null;
}

/** As what the service takes part. */
export interface Joined {
  /** Of the node. */
  readonly id: string;
  /** Of its keys; see shared/id.ts. */
  readonly slot: number;
  /** Of all executions; null without any. */
  readonly largestKey: number | null;
  /** Executions that the last start in this DATA_DIR had left running. */
  readonly interrupted: readonly Interrupted[];
}

export interface Renewed {
  readonly isMember: boolean;
  /** The clock of the database, in milliseconds since the epoch. */
  readonly at: number;
  /** How many other nodes live. */
  readonly others: number;
}
