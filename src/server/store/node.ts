import type { ExecutionRow } from "./execution-row.ts";
import type { Interrupted } from "./interrupted.ts";
import type { NodeTable } from "./shared-schema.ts";

/** This service as one of those that share its store: a node of them. */
export interface StoreNode {
  /** New at each start, and each time that it was given up. */
  readonly id: string;
  /** NODE_NAME. */
  readonly name: string;
  /** How many others live, as of the latest second. */
  readonly others: number;
  /** Prolongs its lease. @throws StoreError where the store cannot be reached */
  renew(figures: NodeFigures): Promise<Renewal>;
  /** From now on times that the store makes itself are corrected by so many milliseconds. */
  correctClock(behindMs: number): void;
  /** After it was given up: goes on as a new one. @throws StoreError */
  rejoin(): Promise<void>;
  /** Ends what ran on nodes that are lost, and forgets those; null: another node does so just now. */
  sweep(): Promise<Swept | null>;
  /**
   * Tells the others that somebody waits on these executions here, for some seconds.
   *
   * @param left on which nobody does any more
   */
  tellAwaited(ids: readonly string[], left: readonly string[]): Promise<void>;
  /** Tells the others that more waits here than can run: a hint, which may be lost. */
  tellWaiting(): Promise<void>;
  /** Calls back each time that another node has told so. */
  onWaiting(act: () => void): void;
  /** Whether somebody waits on it at another node. */
  isAwaited(id: string): Promise<boolean>;
  /** Those of these executions that have ended, or are another node's. */
  listLost(ids: readonly string[]): Promise<readonly string[]>;
  /** Flows of which executions wait elsewhere. */
  listWaiting(): Promise<readonly string[]>;
  /**
   * Ends what waits on lost nodes, of those of these flows that no node that lives has in its folder.
   *
   * @returns how many were ended
   */
  endUnserved(flows: readonly string[]): Promise<number>;
  /** Takes executions that wait elsewhere, of each flow the oldest first. */
  take(wanted: Wanted): Promise<readonly ExecutionRow[]>;
  /** What may start now of webhooks that limit how many run at once; without those that do not. */
  listStartable(webhooks: readonly string[]): Promise<readonly Startable[]>;
}

/** Of one webhook, over all nodes. */
export interface Startable {
  readonly webhook_id: string;
  /** How many more may run. */
  readonly free: number;
  /** When the latest of those that run was started; null: none runs. */
  readonly startedAt: number | null;
  /** So many of those that wait, the oldest first. */
  readonly ids: readonly string[];
}

/** What a node tells of itself. */
export interface NodeFigures {
  readonly state: NodeTable["state"];
  readonly running: number;
  readonly waiting: number;
}

export interface Renewal {
  /** Whether it still was a node: not where others have given it up. */
  readonly isMember: boolean;
  /** By how much its clock is surely behind that of the store, in milliseconds. */
  readonly behindMs: number;
}

export interface Swept {
  /** Names of the nodes that were lost. */
  readonly nodes: readonly string[];
  /** Executions that were ended. */
  readonly interrupted: readonly Interrupted[];
}

/** What a node takes of one flow. */
export interface Room {
  readonly flow: string;
  /** At most. */
  readonly count: number;
  /**
   * That serves: what names another one stays with a node that lives, unless that version is in the
   * store, and is fetched from there. null: whatever it names is taken.
   */
  readonly version: string | null;
  readonly isFetching: boolean;
  /** Versions that cannot run here, though they are in the store. */
  readonly broken: readonly string[];
}

export interface Wanted {
  readonly room: readonly Room[];
  /** Of nodes that live, too, what has waited since this time; null: of lost ones alone. */
  readonly waitingSince: number | null;
  /**
   * Webhooks whose executions stay where they are, unless their node is lost; so do those of
   * webhooks of which as many run as may.
   */
  readonly busyWebhooks: readonly string[];
}
