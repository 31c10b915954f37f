import type { LedgerRecord } from "./ledger-record.ts";
import type { StoreError } from "./store-error.ts";

/** What becomes of a record. Each is called at most once. */
export interface RecordEvents {
  /** It outlives this process. */
  written?(): void;
  /** It outlives a power cut. */
  synced?(): void;
  /** The store's tables have it. */
  applied?(): void;
  /**
   * Before `written`: of these executions nothing was, because they have ended, or are another
   * node's by now. A record of none other is told no more, but for a begin, which replaces them or was
   * recorded before this node was given up, and a start, whose runs wait for what becomes of them.
   */
  overtaken?(ids: readonly string[]): void;
  /**
   * Before `written`: these were not started and wait on, because as many of their webhook run as
   * may.
   */
  heldBack?(ids: readonly string[]): void;
  /** It was not written, and will not be. */
  failed(error: StoreError): void;
}

/** What the life of executions is written to, before anything else knows of it. */
export interface Ledger {
  /** Number of the row that is written next. */
  readonly next: number;
  /** Whether new executions may be recorded now: what the tables lack is not too much. */
  readonly hasRoom: boolean;
  /** Whether new executions are recorded now, as far as is known: not where the disk is full. */
  readonly isWritable: boolean;
  /**
   * Resolves once there is room for new executions.
   *
   * @returns whether there is: not where the store cannot be written just now
   */
  room(): Promise<boolean>;
  /** Rows that the tables lack, and how much of what may be is taken; from 1 on, too much. */
  readonly backlog: { readonly rows: number; readonly ratio: number };
  /**
   * @param text the record's input_value or output_value
   * @returns number of the row that it is written in: all of a row is written, or none
   */
  append(record: LedgerRecord, text: string | null, events: RecordEvents): number;
  /** Calls back once, before the next row is written: what is appended then is in it. */
  beforeWrite(act: () => void): void;
}
