import { createRequire } from "node:module";
import Database from "better-sqlite3";

export type Durability = "full" | "normal";

export interface SqliteFile {
  readonly path: string;
  readonly durability: Durability;
  /** The unpacked better_sqlite3.node; null: the package finds its own. */
  readonly addon: string | null;
}

/** A WAL file that has grown beyond this is cut after a checkpoint, in bytes. */
const WAL_LIMIT = 64 * 1024 * 1024;

/**
 * Opens a connection in WAL. `synchronous` is set and read back on every one, because
 * better-sqlite3 sets FULL only on the open that turns a file into WAL.
 */
export function openConnection(file: SqliteFile): Database.Database {
  const db = openDatabase(file.path, file.addon);
  db.pragma("busy_timeout = 2000");
  // Retention gives pages back in small steps. Of a file that is not new it would wait for a lock.
  if (db.pragma("page_count", { simple: true }) === 0) db.pragma("auto_vacuum = INCREMENTAL");
  db.pragma("journal_mode = WAL");
  db.pragma(`synchronous = ${file.durability.toUpperCase()}`);
  db.pragma(`journal_size_limit = ${WAL_LIMIT}`);
  db.pragma("foreign_keys = ON");
  assertSynchronous(db, file.durability);
  return db;
}

/** A connection as it comes; `readonly` leaves even an old journal alone. */
export function openDatabase(
  path: string,
  addon: string | null,
  options: Database.Options = {},
): Database.Database {
  const binding = addon === null ? {} : { nativeBinding: load(addon) };
  return new Database(path, { ...options, ...binding });
}

function assertSynchronous(db: Database.Database, durability: Durability): void {
  const found = db.pragma("synchronous", { simple: true });
  const expected = durability === "full" ? 2 : 1;
  if (found !== expected)
    throw new Error(
      `Cannot open the store: PRAGMA synchronous is ${String(found)}, not ${expected}`,
    );
}

/** The addon as an object: a bundle has no folder in which the package could look for it. */
function load(addon: string): string {
  return createRequire(addon)(addon) as string;
}
