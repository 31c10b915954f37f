import { closeSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { StartError } from "../../../shared/errors.ts";
import { makeFile } from "./new-file.ts";
import { openDatabase } from "./connection.ts";
import { isDamage } from "./error.ts";

/** Holds a data folder for one process; the operating system gives it up when the process ends. */
export interface DataLock {
  release(): void;
}

/** How long a start waits for whoever only asks whether the folder is taken; milliseconds. */
const ASKED_MS = 100;

/** Whether a process has the data folder; nothing is written there. */
export function isTaken(dataDir: string, addon: string | null): boolean {
  const path = join(dataDir, "lock.db");
  if (!existsSync(path)) return false;
  const db = openDatabase(path, addon, { readonly: true, timeout: 0 });
  try {
    db.prepare("select count(*) from sqlite_master").get();
    return false;
  } catch (error) {
    if ((error as { code?: string }).code === "SQLITE_BUSY") return true;
    throw error;
  } finally {
    db.close();
  }
}

/**
 * Takes the data folder for this process alone. The lock is SQLite's own on a file that holds
 * nothing else, because Node has no file locks of its own.
 *
 * @throws StartError where another process has it, or its file cannot be used
 */
export function takeLock(dataDir: string, addon: string | null): DataLock {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = join(dataDir, "lock.db");
  try {
    makeMissing(path);
    const db = lockFile(path, addon);
    return { release: () => void db.close() };
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (code === "SQLITE_BUSY")
      throw new StartError(
        `Another service runs on the data folder "${dataDir}". Stop it first, or set DATA_DIR`,
      );
    const advice = isDamage(error) ? `. Where no service uses the folder, remove "${path}"` : "";
    throw new StartError(`Cannot lock the data folder "${dataDir}": ${message}${advice}`);
  }
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
