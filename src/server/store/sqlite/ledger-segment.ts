import { existsSync, renameSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { ledgerPaths } from "../../../shared/ledger-paths.ts";
import type { LedgerRow } from "./ledger-row.ts";
import { openDatabase } from "./connection.ts";

/** Gives the ledger of a database to another name of it. */
export function moveLedger(path: string, to: string): void {
  const targets = ledgerPaths(to);
  for (const [at, file] of ledgerPaths(path).entries())
    for (const end of ["", "-wal", "-shm"])
      if (existsSync(file + end)) renameSync(file + end, `${targets[at]}${end}`);
}

/** A row with its number, which grows by one from row to row across both files. */
export interface NumberedRow extends LedgerRow {
  readonly seq: number;
}

/**
 * One file of the ledger, itself a database: its WAL is the log. It is never checkpointed while it
 * is written to, so that a row costs its own pages and nothing else.
 */
export class LedgerSegment {
  readonly path: string;
  readonly #db: Database;
  readonly #insert;
  readonly #read;
  readonly #last;
  readonly #has;

  constructor(path: string, addon: string | null) {
    this.path = path;
    this.#db = openDatabase(path, addon);
    // A backup may be closing it just now.
    this.#db.pragma("busy_timeout = 2000");
    this.#db.pragma("journal_mode = WAL");
    // Who writes syncs by itself, beside the event loop.
    this.#db.pragma("synchronous = NORMAL");
    this.#db.pragma("wal_autocheckpoint = 0");
    this.#db.pragma("temp_store = MEMORY");
    this.#db.exec(
      "create table if not exists record " +
        "(seq integer primary key, head text not null, texts text not null)",
    );
    this.#insert = this.#db.prepare("insert into record (seq, head, texts) values (?, ?, ?)");
    this.#read = this.#db.prepare(
      "select seq, head, texts from record where seq > ? and seq <= ? order by seq",
    );
    this.#has = this.#db.prepare("select 1 from record where seq = ?");
    this.#last = this.#db.prepare("select max(seq) from record").pluck();
    // Who writes never waits where calls do.
    this.#db.pragma("busy_timeout = 0");
  }

  /** @throws {Error} of SQLite: then it was not written */
  append(seq: number, { head, texts }: LedgerRow): void {
    this.#insert.run(seq, head, texts);
  }

  /** The rows after one, up to another, in their order. */
  read(after: number, through: number): IterableIterator<NumberedRow> {
    return this.#read.iterate(after, through) as IterableIterator<NumberedRow>;
  }

  /** Number of its last row; null: it has none. */
  get last(): number | null {
    return this.#last.get() as number | null;
  }

  has(seq: number): boolean {
    return this.#has.get(seq) !== undefined;
  }

  /** From now on it is read as it is now, whatever becomes of it. */
  hold(): void {
    this.#db.exec("begin");
    this.#last.get();
  }

  /** Deletes its rows, and lets its WAL begin anew. */
  empty(): void {
    this.#db.exec("delete from record");
    // Without pages there is nothing for the checkpoint to write: the deleted rows would be.
    this.#db.exec("vacuum");
    this.#db.pragma("wal_checkpoint(PASSIVE)");
    // The first write after it syncs the WAL's new head: here, not where calls wait for it.
    this.#db.exec("pragma user_version = 1");
  }

  close(): void {
    this.#db.close();
  }
}
