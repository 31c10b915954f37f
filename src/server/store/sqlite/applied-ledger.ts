import type { Database } from "better-sqlite3";
import { ledgerPaths } from "../../../shared/ledger-paths.ts";
import { Applier } from "./applier.ts";
import { LedgerSegment } from "./ledger-segment.ts";
import type { SqliteFile } from "./connection.ts";
import type { Applied } from "./thread-protocol.ts";

/** The ledger as the writer sees it; opened with its first use. */
export class AppliedLedger {
  readonly #db: Database;
  readonly #file: SqliteFile;
  #opened: { applier: Applier; segments: LedgerSegment[] } | null = null;

  constructor(db: Database, file: SqliteFile) {
    this.#db = db;
    this.#file = file;
  }

  /** What is lost of it in a power cut, the ledger still has: nothing waits for the disk. */
  apply(through: number): Applied {
    this.#db.pragma("synchronous = NORMAL");
    try {
      return this.#open().applier.apply(through);
    } finally {
      this.#db.pragma(`synchronous = ${this.#file.durability.toUpperCase()}`);
    }
  }

  /** Before the ledger loses what was applied, the tables have it on disk. */
  empty(number: number): void {
    const { segments } = this.#open();
    this.#db.pragma("synchronous = FULL");
    try {
      // A value that changes: SQLite writes, and so syncs, nothing where the row stays as it is.
      this.#db.prepare("update ledger set emptied = emptied + 1").run();
    } finally {
      this.#db.pragma(`synchronous = ${this.#file.durability.toUpperCase()}`);
    }
    segments[number]?.empty();
  }

  close(): void {
    for (const segment of this.#opened?.segments ?? []) segment.close();
  }

  #open(): { applier: Applier; segments: LedgerSegment[] } {
    if (this.#opened !== null) return this.#opened;
    const segments = ledgerPaths(this.#file.path).map(
      (path) => new LedgerSegment(path, this.#file.addon),
    );
    return (this.#opened = { applier: new Applier(this.#db, segments), segments });
  }
}
