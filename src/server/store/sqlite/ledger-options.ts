import type { Write } from "./ledger-file.ts";
import type { SqliteFile } from "./connection.ts";
import type { Applied } from "./thread-protocol.ts";

/** What a ledger is opened with. */
export interface LedgerOptions {
  readonly file: SqliteFile;
  /** Number of the last row that the store's tables have. */
  readonly applied: number;
  /** Has rows up to one made rows of the store, in the store's thread. @throws StoreError */
  apply(through: number): Promise<Applied>;
  /** Has on disk what was applied. @throws StoreError */
  syncTables(): Promise<void>;
  /** A record that cannot be applied was passed over, or it is not known what the disk has. */
  onDamage(error: Error, isLost: boolean): void;
  /** Whether its files are not where they were: what has begun is written on, and nothing begins. */
  isLost?(): boolean;
  /** Whether another process may write its files: nothing at all is written. */
  isUnlocked?(): boolean;
  /** @param error why no row can be written from now on; null: rows can be written again */
  onRoom?(error: Error | null): void;
  /** @param error why the tables lack what is recorded from now on; null: they get it again */
  onFailing?(error: Error | null): void;
  readonly write?: Write;
  /** Makes sure that what was written to a file is on disk. */
  readonly sync?: Sync;
}

export type Sync = (descriptor: number, told: (error: Error | null) => void) => void;
