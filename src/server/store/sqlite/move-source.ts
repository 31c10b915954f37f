import { readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Database } from "better-sqlite3";
import { Kysely } from "kysely";
import { now } from "../../../shared/clock.ts";
import { StartError } from "../../../shared/errors.ts";
import { apply, listDue, openProgress, refuseNewer } from "../migrate.ts";
import { MOVED_TABLES, type MovedTable, type MoveSource } from "../move-source.ts";
import type { Schema } from "../schema.ts";
import { interruptRunning } from "../unended.ts";
import { backupTo } from "./backup.ts";
import { openConnection, type SqliteFile } from "./connection.ts";
import { FileDialect } from "./file-dialect.ts";
import { fileAt } from "./file-place.ts";
import { inspectDatabase, listApplied } from "./damage.ts";

/**
 * Opens a copy of a database whose service has stopped, with all that its ledger has, brought up to
 * date and put in order as its next start would: the database itself stays as it is.
 *
 * @throws Error or StartError where it cannot be copied, is damaged, or is of a newer version
 */
export async function openMoveSource(
  file: SqliteFile,
  tell: (line: string) => void,
): Promise<MoveSource> {
  const applied = inspectDatabase(file);
  if (applied.length === 0) throw new StartError(`"${file.path}" is no database of Flowhook`);
  refuseNewer(applied);
  const { path } = file;
  using opened = new DisposableStack();
  opened.defer(() => removeMoved(path));
  removeMoved(path);
  tell(`The database is copied to "${toCopy(path)}", and checked`);
  await backupTo(file, toCopy(path));
  const db = openConnection({ ...file, path: toCopy(path), durability: "normal" });
  opened.defer(() => void db.close());
  const rows = new Kysely<Schema>({ dialect: new FileDialect(db) });
  await apply(rows, listDue(listApplied(db)), openProgress(tell));
  const { text, parameters } = interruptRunning({ rows }, now());
  const { changes } = db.prepare(text.sql).run(...parameters);
  const disposal = opened.move();
  return {
    tables: MOVED_TABLES.map((name) => describe(db, name)),
    interrupted: changes,
    waiting: count(db, "execution where status = 'PENDING' and ended_at is null"),
    secrets: db.prepare("select name, sealed from secret").all() as MoveSource["secrets"],
    rows: (table) => readRows(db, table),
    [Symbol.dispose]: () => disposal.dispose(),
  };
}

/** Removes the copy, also what a move left that was killed. */
export function removeMoved(path: string): void {
  const copy = toCopy(path);
  const folder = dirname(copy);
  for (const name of readdirSync(folder).filter((name) => name.startsWith(basename(copy))))
    rmSync(join(folder, name), { force: true });
}

function toCopy(path: string): string {
  return `${fileAt(path)}.moving`;
}

interface Column {
  readonly name: string;
  /** Place in the primary key, from 1; 0: it is not part of it. */
  readonly pk: number;
}

function describe(db: Database, name: keyof Schema): MovedTable {
  const columns = db.prepare("select name, pk from pragma_table_info(?)").all(name) as Column[];
  const key = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk);
  const last = db.prepare("select seq from sqlite_sequence where name = ?").pluck().get(name);
  return {
    name,
    columns: columns.map((column) => column.name),
    key: key.map((column) => column.name),
    count: count(db, list([name])),
    lastNumber: (last as number | undefined) ?? null,
  };
}

/** Begins with the first row that is asked for: what was begun and not ended keeps the file open. */
function* readRows(db: Database, { name, columns, key }: MovedTable): Iterable<unknown[]> {
  const sql = `select ${list(columns)} from ${list([name])} order by ${list(key)}`;
  yield* db.prepare(sql).raw().iterate() as IterableIterator<unknown[]>;
}

function count(db: Database, from: string): number {
  return db.prepare(`select count(*) from ${from}`).pluck().get() as number;
}

function list(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}
