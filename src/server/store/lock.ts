import { closeSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { StartFault } from "../../shared/errors.ts";
import { makeFile } from "./new-file.ts";
import { openDatabase } from "./sqlite.ts";

/** Holds a data folder for one process; the operating system gives it up when the process ends. */
export interface DataLock {
  release(): void;
}

/**
 * Takes the data folder for this process alone. The lock is SQLite's own on a file that holds
 * nothing else, because Node has no file locks of its own.
 *
 * @throws StartFault where another process has it
 */
export function takeLock(data_dir: string, addon: string | null): DataLock {
  mkdirSync(data_dir, { recursive: true, mode: 0o700 });
  const path = join(data_dir, "lock.db");
  makeMissing(path);
  const db = openDatabase(path, addon);
  try {
    db.pragma("busy_timeout = 0");
    db.exec("BEGIN EXCLUSIVE");
  } catch (fault) {
    db.close();
    if ((fault as { code?: string }).code !== "SQLITE_BUSY") throw fault;
    throw new StartFault(
      `Another service runs on the data folder "${data_dir}". Stop it first, or set DATA_DIR`,
    );
  }
  return { release: () => void db.close() };
}

function makeMissing(path: string): void {
  try {
    closeSync(makeFile(path));
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code !== "EEXIST") throw fault;
  }
}
