import { closeSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../../../shared/errors.ts";
import { makeFile } from "./new-file.ts";
import { openDatabase } from "./connection.ts";

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
 * @throws StartError where another process has it
 */
export function takeLock(dataDir: string, addon: string | null): DataLock {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = join(dataDir, "lock.db");
  makeMissing(path);
  const db = openDatabase(path, addon);
  try {
    db.pragma(`busy_timeout = ${ASKED_MS}`);
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if ((error as { code?: string }).code !== "SQLITE_BUSY") throw error;
    throw new StartError(
      `Another service runs on the data folder "${dataDir}". Stop it first, or set DATA_DIR`,
    );
  }
  return { release: () => void db.close() };
}

function makeMissing(path: string): void {
  try {
    closeSync(makeFile(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
