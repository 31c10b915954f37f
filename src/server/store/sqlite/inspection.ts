import { copyFileSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { ledgerPaths } from "../../../shared/ledger-paths.ts";
import { listGaps } from "./applier.ts";
import { isDamage } from "./error.ts";
import { listDue } from "../migrate.ts";
import { MIGRATIONS } from "../migrations/migrations.ts";
import { compareSchema } from "./own-schema.ts";
import { openDatabase, type SqliteFile } from "./connection.ts";
import { fileAt } from "./file-place.ts";
import { countBegun, LeftLedger, readPosition } from "./left-ledger.ts";

/** What a database is like; found without writing to its folder. */
export interface Inspection {
  /** What SQLite finds damaged, five sentences at most. */
  readonly damage: readonly string[];
  /** Objects of the schema that no migration makes, that are otherwise, or that are missing. */
  readonly foreign: readonly string[];
  /** Names of migrations that this version does not know. */
  readonly newer: readonly string[];
  /** Migrations that the next start applies. */
  readonly due: readonly string[];
  /** When its newest execution was created; milliseconds since the epoch, null without one. */
  readonly newestAt: number | null;
  readonly secrets: readonly { readonly name: string; readonly sealed: string }[];
}

type Path = Pick<SqliteFile, "path" | "addon">;

/**
 * Inspects the database of a service that runs: beside it, read only.
 *
 * @throws Error where the file cannot be read
 */
export function inspectLive({ path, addon }: Path): Promise<Inspection> {
  return inspect(openDatabase(path, addon, { readonly: true }), addon);
}

/**
 * Inspects a copy of the database of a stopped service. To open the database itself would make its
 * WAL anew beside it.
 *
 * @param scratch a folder for the copy, with as much room as the database takes
 * @throws Error where it cannot be read or copied
 */
export function inspectCopy(file: Path, scratch: string): Promise<Inspection> {
  const [path, copy] = [fileAt(file.path), copyIn(scratch)];
  for (const end of ["", "-wal"]) if (existsSync(path + end)) copyFileSync(path + end, copy + end);
  return inspect(openDatabase(copy, file.addon, { fileMustExist: true }), file.addon);
}

const copyIn = (scratch: string): string => join(scratch, "inspected.db");

/** What the ledger of a stopped service has that its tables lack. */
export interface LedgerInspection {
  /** Executions that the next start puts into them. */
  readonly begun: number;
  /** What of it is lost. */
  readonly damage: readonly string[];
}

/**
 * Inspects copies of the ledger, beside the copy of the database.
 *
 * @param scratch where inspectCopy has put that
 * @throws Error where it cannot be read or copied
 */
export function inspectLedger({ path, addon }: Path, scratch: string): LedgerInspection {
  const copy = copyIn(scratch);
  const copies = ledgerPaths(copy);
  for (const [at, file] of ledgerPaths(fileAt(path)).entries())
    for (const end of ["", "-wal"])
      if (existsSync(file + end)) copyFileSync(file + end, `${copies[at]}${end}`);
  const db = openDatabase(copy, addon, { fileMustExist: true });
  try {
    const position = readPosition(db) ?? 0;
    using left = new LeftLedger({ path: copy, addon });
    const seqs = Array.from(left.read(position), ({ seq }) => ({ seq }));
    return { begun: countBegun(db, { path: copy, addon }), damage: listGaps(position, seqs) };
  } finally {
    db.close();
  }
}

/** Bytes of a database with its WAL, as far as they are there and can be seen. */
export function sizeOf(path: string): number {
  // Where the folder is closed to who asks, the size alone would throw.
  const files = [path, `${fileAt(path)}-wal`].filter((file) => existsSync(file));
  return files.reduce(
    (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

const NOTHING: Inspection = {
  damage: [],
  foreign: [],
  newer: [],
  due: [],
  newestAt: null,
  secrets: [],
};

async function inspect(db: Database, addon: string | null): Promise<Inspection> {
  try {
    db.pragma("trusted_schema = OFF");
    const found = db.prepare("pragma integrity_check(5)").pluck().all() as string[];
    const damage = found.filter((text) => text !== "ok");
    if (damage.length > 0) return { ...NOTHING, damage };
    return await inspectTables(db, addon);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return { ...NOTHING, damage: [(error as Error).message] };
  } finally {
    db.close();
  }
}

async function inspectTables(db: Database, addon: string | null): Promise<Inspection> {
  const tables = db.prepare("select name from sqlite_master where type = 'table'").pluck().all();
  if (!tables.includes("migration")) return { ...NOTHING, foreign: ["found no table of Flowhook"] };
  const applied = db.prepare("select name from migration").pluck().all() as string[];
  const newer = applied.filter((name) => !MIGRATIONS.has(name));
  if (newer.length > 0) return { ...NOTHING, newer };
  return {
    ...NOTHING,
    foreign: await compareSchema(db, applied, addon),
    due: listDue(applied),
    newestAt: db.prepare("select max(created_at) from execution").pluck().get() as number | null,
    secrets: db.prepare("select name, sealed from secret").all() as Inspection["secrets"],
  };
}
