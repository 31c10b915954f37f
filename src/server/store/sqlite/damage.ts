import { existsSync, statSync } from "node:fs";
import type Database from "better-sqlite3";
import { StartError } from "../../../shared/errors.ts";
import { openDatabase, type SqliteFile } from "./connection.ts";
import { isDamage } from "./error.ts";

/** What keeps a database file from being used, in words for its operator. */

/** Files up to this size are checked whole at each start, in bytes; it takes about a second. */
const CHECKED_SIZE = 256 * 1024 * 1024;

/**
 * Looks at a database file before anything writes to it.
 *
 * @returns names of the migrations in it; none for a file that is not there yet
 * @throws StartError where it is damaged or is none of ours; the file stays as it is
 */
export function inspectDatabase(file: SqliteFile): string[] {
  // SQLite would delete the WAL beside an empty one.
  if (!existsSync(file.path) || statSync(file.path).size === 0) return [];
  try {
    const db = openDatabase(file.path, file.addon, { readonly: true });
    try {
      return readMigrations(db);
    } finally {
      db.close();
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    throw new StartError(
      `Cannot open the database "${file.path}": ${(error as Error).message}. It was left as it is. ` +
        `Restore a backup with: flowhook restore FILE`,
    );
  }
}

function readMigrations(db: Database.Database): string[] {
  const tables = db.prepare("select name from sqlite_master where type = 'table'").pluck().all();
  if (tables.length === 0) return [];
  if (!tables.includes("migration"))
    throw new StartError(`The file "${db.name}" is a database, but none of Flowhook`);
  const pages = db.pragma("page_count", { simple: true }) as number;
  const size = pages * (db.pragma("page_size", { simple: true }) as number);
  const found = size > CHECKED_SIZE ? "ok" : db.pragma("quick_check(1)", { simple: true });
  if (found !== "ok") throw Object.assign(new Error(String(found)), { code: "SQLITE_CORRUPT" });
  return listApplied(db);
}

/** Names of the migrations that a database of Flowhook has; none in one that is new. */
export function listApplied(db: Database.Database): string[] {
  const tables = db.prepare("select 1 from sqlite_master where name = 'migration'").all();
  if (tables.length === 0) return [];
  return db.prepare("select name from migration").pluck().all() as string[];
}

/** By the beginning of SQLite's code. */
const ADVICE: readonly (readonly [code: RegExp, advice: string])[] = [
  [
    /^SQLITE_(CANTOPEN|READONLY|PERM)/,
    "This user has to be able to read and write it and its folder",
  ],
  [/^SQLITE_(BUSY|LOCKED)/, "Another process has locked it: a backup tool, or a shell of SQLite"],
  [/^SQLITE_(FULL|IOERR)/, "Look at its disk"],
];

/** @throws StartError for what SQLite throws, where its operator can do something about it */
export function explainOpening<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw toOpeningError(path, error);
  }
}

/** A StartError for what SQLite threw, where its operator can do something about it; or it itself. */
export function toOpeningError(path: string, error: unknown): unknown {
  const { code, message } = error as { code?: unknown; message: string };
  const found = ADVICE.find(([pattern]) => typeof code === "string" && pattern.test(code));
  if (found === undefined) return error;
  return new StartError(`Cannot open the database "${path}": ${message}. ${found[1]}`);
}
