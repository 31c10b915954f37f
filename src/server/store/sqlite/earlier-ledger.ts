import { closeSync, existsSync, openSync, readSync, rmSync } from "node:fs";
import { ledgerPaths } from "../../../shared/ledger-paths.ts";
import type { LedgerRecord } from "../ledger-record.ts";
import { openDatabase, type SqliteFile } from "./connection.ts";
import { MAGIC, toEntries, type LedgerRow } from "./ledger-row.ts";

/** The ledger of release 0.1: its files were databases. What is in one is taken over once. */

export function hasEarlier(path: string): boolean {
  return listEarlier(path).length > 0;
}

/** Files of the ledger that are not of today's form: SQLite says where one is no database either. */
function listEarlier(path: string): string[] {
  return ledgerPaths(path).filter((file) => existsSync(file) && !isOfToday(file));
}

function isOfToday(file: string): boolean {
  const descriptor = openSync(file, "r");
  try {
    const begin = Buffer.alloc(MAGIC.length);
    const size = readSync(descriptor, begin);
    return begin.subarray(0, size).equals(MAGIC.subarray(0, size));
  } finally {
    closeSync(descriptor);
  }
}

interface EarlierRow {
  readonly seq: number;
  /** A JSON list of pairs: a record, and the length of its text in UTF-16 units or null. */
  readonly head: string;
  readonly texts: string;
}

/** The rows after one, in their order. @throws {Error} of SQLite */
export function readEarlier({ path, addon }: Omit<SqliteFile, "durability">, after: number) {
  const rows = listEarlier(path).flatMap((file) => {
    const db = openDatabase(file, addon, { fileMustExist: true });
    try {
      // Killed at its first start, it has none.
      const tables = db.prepare("select 1 from sqlite_master where name = 'record'").all();
      if (tables.length === 0) return [];
      return db.prepare("select * from record where seq > ?").all(after) as EarlierRow[];
    } finally {
      db.close();
    }
  });
  return rows.toSorted((a, b) => a.seq - b.seq).map(decode);
}

function decode({ seq, head, texts }: EarlierRow): LedgerRow {
  let at = 0;
  const pairs = JSON.parse(head) as [LedgerRecord, number | null][];
  const entries = pairs.flatMap(([record, length]) => {
    if (length === null) return { record, text: null };
    return toEntries(record, texts.slice(at, (at += length)));
  });
  return { seq, size: head.length + texts.length, entries };
}

/** Once the tables have all of it. */
export function removeEarlier(path: string): void {
  for (const file of listEarlier(path))
    for (const end of ["-wal", "-shm", ""]) rmSync(file + end, { force: true });
}
