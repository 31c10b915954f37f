import { closeSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { StartError } from "../../../shared/errors.ts";
import { makeFile } from "./new-file.ts";
import { openDatabase } from "./connection.ts";
import { isDamage } from "./error.ts";
import { resolveLinks } from "./file-place.ts";

/** Holds what a service has for one process; the operating system gives it up when the process ends. */
export interface DataLock {
  /** Files whose lock it is: without one of them another process gets it too. */
  readonly paths: readonly string[];
  release(): void;
}

/** How long a start waits for whoever only asks whether the folder is taken; milliseconds. */
const ASKED_MS = 100;

/**
 * Whether a process has the data folder; nothing is written there.
 *
 * @throws StartError where the lock's file cannot be used
 */
export function isTaken(dataDir: string, addon: string | null): boolean {
  const file = folderLock(dataDir);
  if (!existsSync(file.path)) return false;
  try {
    const db = openDatabase(file.path, addon, { readonly: true, timeout: 0 });
    try {
      db.prepare("select count(*) from sqlite_master").get();
      return false;
    } finally {
      db.close();
    }
  } catch (error) {
    if ((error as { code?: string }).code === "SQLITE_BUSY") return true;
    throw toLockError(file, error);
  }
}

/** What a service has for itself. */
export interface Locked {
  readonly dataDir: string;
  /** Path of a database in SQLite, which may lie elsewhere; null: it is none. */
  readonly database: string | null;
}

/** Another process has it. */
export class TakenError extends StartError {}

/**
 * Takes the data folder and the database for this process alone: either may be named by another
 * configuration too. A lock is SQLite's own on a file that holds nothing else, because Node has no
 * file locks of its own.
 *
 * @throws TakenError where another process has one of them
 * @throws StartError where a lock's file cannot be used
 */
export function takeLock({ dataDir, database }: Locked, addon: string | null): DataLock {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const held: Database[] = [];
  const release = (): void => {
    for (const db of held) db.close();
  };
  try {
    const files = locksOf(dataDir, database);
    for (const file of files) held.push(takeFile(file, addon));
    return { paths: files.map(({ path }) => path), release };
  } catch (error) {
    release();
    throw error;
  }
}

interface LockFile {
  readonly path: string;
  /** For people: whose lock it is, and what leads to another one. */
  readonly what: string;
  readonly key: "DATA_DIR" | "DATABASE_URL";
}

function locksOf(dataDir: string, database: string | null): LockFile[] {
  const folder = folderLock(dataDir);
  if (database === null) return [folder];
  const what = `the database "${database}"`;
  return [folder, { path: `${resolveLinks(database)}-lock`, what, key: "DATABASE_URL" }];
}

function folderLock(dataDir: string): LockFile {
  const path = join(dataDir, "lock.db");
  return { path, what: `the data folder "${dataDir}"`, key: "DATA_DIR" };
}

/** @throws StartError */
function takeFile(file: LockFile, addon: string | null): Database {
  try {
    makeMissing(file.path);
    return lockFile(file.path, addon);
  } catch (error) {
    const { what, key } = file;
    if ((error as { code?: string }).code === "SQLITE_BUSY")
      throw new TakenError(`Another service runs on ${what}. Stop it first, or set ${key}`);
    throw toLockError(file, error);
  }
}

function toLockError({ path, what }: LockFile, error: unknown): StartError {
  const advice = isDamage(error) ? `. Where no service uses it, remove "${path}"` : "";
  return new StartError(`Cannot lock ${what}: ${(error as Error).message}${advice}`);
}

function lockFile(path: string, addon: string | null): Database {
  const db = openDatabase(path, addon);
  try {
    db.pragma(`busy_timeout = ${ASKED_MS}`);
    db.exec("BEGIN EXCLUSIVE");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function makeMissing(path: string): void {
  try {
    closeSync(makeFile(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
