import type { Database } from "better-sqlite3";
import { ledgerPaths } from "../../../shared/ledger-paths.ts";
import { Applier } from "./applier.ts";
import { LedgerReader } from "./ledger-reader.ts";
import type { Durability, SqliteFile } from "./connection.ts";
import type { Applied } from "./thread-protocol.ts";

/** Has on disk what was committed. */
export function syncTables(db: Database, durability: Durability): void {
  db.pragma("synchronous = FULL");
  try {
    // A value that changes: SQLite writes, and so syncs, nothing where the row stays as it is.
    db.prepare("update ledger set emptied = emptied + 1").run();
  } finally {
    db.pragma(`synchronous = ${durability.toUpperCase()}`);
  }
}

/** The ledger as the writer sees it; opened with its first use. */
export class AppliedLedger {
  readonly #db: Database;
  readonly #file: SqliteFile;
  #opened: { applier: Applier; reader: LedgerReader } | null = null;

  constructor(db: Database, file: SqliteFile) {
    this.#db = db;
    this.#file = file;
  }

  /** What is lost of it in a power cut, the ledger still has: nothing waits for the disk. */
  apply(through: number): Applied {
    this.#db.pragma("synchronous = NORMAL");
    try {
      const { applier, reader } = this.#open();
      return applier.apply((position) => reader.read(position, through));
    } finally {
      this.#db.pragma(`synchronous = ${this.#file.durability.toUpperCase()}`);
    }
  }

  /** Has on disk what was applied, before the ledger loses it. */
  sync(): void {
    syncTables(this.#db, this.#file.durability);
  }

  close(): void {
    this.#opened?.reader[Symbol.dispose]();
  }

  #open(): { applier: Applier; reader: LedgerReader } {
    return (this.#opened ??= {
      applier: new Applier(this.#db),
      reader: new LedgerReader(ledgerPaths(this.#file.path)),
    });
  }
}
