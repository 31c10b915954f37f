import { existsSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { now } from "../../../shared/clock.ts";
import { StartError } from "../../../shared/errors.ts";
import { ledgerPaths } from "../../../shared/ledger-paths.ts";
import { Applier } from "./applier.ts";
import type { LedgerEntry } from "../ledger-record.ts";
import { syncTables } from "./applied-ledger.ts";
import type { SqliteFile } from "./connection.ts";
import { readEarlier } from "./earlier-ledger.ts";
import { fileAt } from "./file-place.ts";
import { moveLedger } from "./ledger-file.ts";
import { LedgerReader } from "./ledger-reader.ts";
import type { LedgerRow } from "./ledger-row.ts";

/** A ledger that nobody writes any more, or another process: of today's form or of release 0.1. */
export class LeftLedger {
  readonly #file: Pick<SqliteFile, "path" | "addon">;
  readonly #reader: LedgerReader;

  /** @param file the database, by the name beside which the ledger lies */
  constructor(file: Pick<SqliteFile, "path" | "addon">) {
    this.#file = file;
    this.#reader = new LedgerReader(ledgerPaths(file.path).filter((path) => existsSync(path)));
  }

  /** The rows after one, in their order. @throws {Error} of SQLite */
  *read(after: number): Generator<LedgerRow> {
    yield* readEarlier(this.#file, after);
    yield* this.#reader.read(after);
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]();
  }
}

/** What a ledger has cannot be put into the tables: it stays as it is. */
export class LedgerError extends StartError {}

/**
 * The ledger that has what the tables lack: beside the file, or beside a link to it, where releases
 * before kept it.
 *
 * @param link by which the database is opened, or its own path
 * @param applied number of the last row that the tables have
 * @throws LedgerError where both have something, and nobody knows which came first
 */
export function openLeft(
  { path, addon }: Pick<SqliteFile, "path" | "addon">,
  link: string,
  applied: number,
): LeftLedger {
  const own = new LeftLedger({ path, addon });
  if (link === path) return own;
  const linked = new LeftLedger({ path: link, addon });
  const [isOwn, isLinked] = [own, linked].map((left) => left.read(applied).next().done !== true);
  (isLinked ? own : linked)[Symbol.dispose]();
  if (!isLinked) return own;
  if (!isOwn) return linked;
  linked[Symbol.dispose]();
  throw new LedgerError(
    `The database "${path}" has two ledgers, "${ledgerPaths(path)[0]}" and ` +
      `"${ledgerPaths(link)[0]}", each with executions that the database lacks. It was opened by ` +
      `both names. Keep the files of one of them elsewhere, and start again`,
  );
}

/** Executions that are in the ledger and not in the tables, at most: damaged ones may not tell. */
export function countBegun(db: Database, { path, addon }: Pick<SqliteFile, "path" | "addon">) {
  try {
    using left = new LeftLedger({ path: fileAt(path), addon });
    const rows = left.read(positionOr(db, 0));
    return rows.reduce((sum, row) => sum + row.entries.filter(isBegin).length, 0);
  } catch {
    // Nor can the ledger be read.
    return 0;
  }
}

const isBegin = ({ record }: LedgerEntry): boolean => record.kind === "begin";

function positionOr(db: Database, other: number): number {
  try {
    return readPosition(db) ?? other;
  } catch {
    return other;
  }
}

/** Number of the last row that the tables have; null: they are of a release without a ledger. */
export function readPosition(db: Database): number | null {
  const tables = db.prepare("select name from sqlite_master where name = 'ledger'").all();
  if (tables.length === 0) return null;
  return db.prepare("select applied from ledger").pluck().get() as number;
}

/**
 * Takes what a release before has left beside a link; its files are kept under another name.
 *
 * @returns why records were passed over
 */
export function takeOverLinked(db: Database, file: SqliteFile, link: string): string[] {
  if (link === file.path || !ledgerPaths(link).some((path) => existsSync(path))) return [];
  const applier = new Applier(db);
  using ledger = openLeft(file, link, applier.position);
  const skipped = applier.applyAll((position) => ledger.read(position));
  syncTables(db, file.durability);
  moveLedger(link, `${link}.before-${now()}`);
  return skipped;
}
