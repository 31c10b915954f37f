import { randomBytes } from "node:crypto";
import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Database } from "better-sqlite3";
import { Kysely } from "kysely";
import { now } from "../../../shared/clock.ts";
import { ledgerPaths } from "../../../shared/ledger-paths.ts";
import { Applier } from "./applier.ts";
import { isDamage } from "./error.ts";
import { fileAt } from "./file-place.ts";
import { unbroken } from "./ledger-reader.ts";
import { countBegun, LedgerError, openLeft, readPosition } from "./left-ledger.ts";
import { apply, listDue } from "../migrate.ts";
import type { Schema } from "../schema.ts";
import { FileDialect } from "./file-dialect.ts";
import { makeFile } from "./new-file.ts";
import { requireOwnSchema } from "./own-schema.ts";
import { openDatabase, type SqliteFile } from "./connection.ts";
import { listApplied } from "./damage.ts";
import { arePartedAt, keepApart, moveLogs, PARTED, PARTED_ACTION } from "./parted-logs.ts";
import { requireRestorable } from "./restorable.ts";

/** Copies of the database: whole, checked, and in one file without a WAL beside it. */

/** Copied in one step of a few milliseconds; between two of them a signal is heard. */
const STEP_PAGES = 2000;

/**
 * Copies the database to a new file, also while a service writes to it, and checks the copy.
 *
 * @param beside where it lies until it is whole: `partialOf(path)`
 * @throws Error where there is no database, the file is there already, the copy is damaged, or
 *   what the ledger has cannot be put into it
 */
export async function backupTo(
  file: SqliteFile,
  path: string,
  beside = partialOf(path),
): Promise<void> {
  // A link counts, wherever it leads.
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) throw newTaken(path);
  if (arePartedAt(fileAt(file.path))) throw new Error(`"${file.path}" ${PARTED}. ${PARTED_ACTION}`);
  // Nobody else may read what is in it.
  closeSync(openSync(beside, "wx", 0o600));
  try {
    const source = openDatabase(file.path, file.addon, { fileMustExist: true });
    try {
      // One view of it for all steps: writes of a running service would make each begin anew.
      source.exec("begin");
      source.prepare("select count(*) from sqlite_master").get();
      await source.backup(beside, { progress: () => STEP_PAGES });
    } finally {
      source.close();
    }
    await settle(beside, file.addon, (copy) => takeInLedger(copy, file));
    nameAnew(beside, path);
    sync(dirname(path));
  } finally {
    removePartial(beside);
  }
}

/** A name that somebody has taken meanwhile, as another backup to it, stays theirs. */
function nameAnew(beside: string, path: string): void {
  try {
    linkSync(beside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw newTaken(path);
    // A file system whose files have one name each.
    renameSync(beside, path);
  }
}

function newTaken(path: string): Error {
  return new Error(`The file "${path}" is there already`);
}

/** A half-written file never has the name of a backup, nor one at which somebody has put a link. */
export function partialOf(path: string): string {
  return `${path}.${randomBytes(6).toString("hex")}.partial`;
}

/** A copy that is not whole, with what SQLite keeps beside it. */
export function removePartial(beside: string): void {
  for (const end of ["", "-journal", "-wal", "-shm"]) rmSync(beside + end, { force: true });
}

/**
 * Puts a backup in the place of the database. Only for the process that holds the data folder's
 * lock. What had not ended when the backup was made is not run again, and every login has ended:
 * neither is known to be wanted still.
 *
 * @param tell takes a line of what neither database has, and where it is kept
 * @returns the path of the replaced database, beside the new one; null where there was none
 * @throws Error or StartError where the backup is damaged, none of this product, of a newer
 *   version, holds what this product never makes, or lacks what lies beside it; the database stays
 *   as it was
 */
export async function restoreFrom(
  file: SqliteFile,
  backup: string,
  tell: (line: string) => void = () => {},
): Promise<string | null> {
  const applied = requireRestorable(file, backup);
  const beside = restoringOf(file);
  const path = fileAt(file.path);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await copyTo(beside, backup);
    await inspectSchema(beside, applied, file.addon);
    await settle(beside, file.addon, endWhatWasOpen);
    const old = await setAside(file, tell);
    renameSync(beside, path);
    sync(dirname(path));
    return old;
  } finally {
    removePartial(beside);
  }
}

/** Where a backup is copied to before it takes the database's place. */
export function restoringOf({ path }: Pick<SqliteFile, "path">): string {
  return `${fileAt(path)}.restoring`;
}

/** Before anything is written to the copy, which would set triggers off. */
async function inspectSchema(
  path: string,
  applied: readonly string[],
  addon: string | null,
): Promise<void> {
  const db = openDatabase(path, addon, { fileMustExist: true });
  try {
    db.pragma("trusted_schema = OFF");
    await requireOwnSchema(db, applied, addon);
  } finally {
    db.close();
  }
}

const CHUNK = 1024 * 1024;

/** As a new file with modes of its own: a backup may be read-only, or open to others. */
async function copyTo(path: string, backup: string): Promise<void> {
  // A journal that another one has left would be played back into it.
  removePartial(path);
  const from = createReadStream(backup, { highWaterMark: CHUNK });
  await pipeline(from, createWriteStream(path, { fd: makeFile(path) }));
}

/** Checks a copy whole, and leaves it in one file, on disk. */
async function settle(
  path: string,
  addon: string | null,
  change: (db: Database) => void | Promise<void>,
): Promise<void> {
  const db = openDatabase(path, addon, { fileMustExist: true });
  try {
    db.pragma("journal_mode = DELETE");
    const found = db.pragma("integrity_check(1)", { simple: true });
    if (found !== "ok") throw new Error(`The copy is damaged: ${String(found)}`);
    await change(db);
  } finally {
    db.close();
  }
  sync(path);
}

function endWhatWasOpen(db: Database): void {
  db.transaction(() => {
    db.prepare(
      "update execution set status = 'ENDED_ERROR', ended_at = ?, " +
        "status_message = 'not ended when the backup was made' where ended_at is null",
    ).run(now());
    db.prepare("delete from token").run();
  })();
}

/**
 * The database under another name, with what its WAL and its ledger held. It keeps its own until
 * the new one takes that: without a database the next start would begin with an empty one.
 */
async function setAside(
  file: Pick<SqliteFile, "path" | "addon">,
  tell: (line: string) => void,
): Promise<string | null> {
  const path = fileAt(file.path);
  const end = `.before-restore-${now()}`;
  const old = path + end;
  const isThere = existsSync(path);
  if (!isThere || arePartedAt(path)) {
    const kept = keepApart(path);
    if (kept !== null) tell(kept);
  } else {
    const begun = await takeInLogs(file);
    if (begun > 0)
      tell(
        `The ledger of the database that was there has what no database has (executions: up to ` +
          `${begun}). It is kept as "${ledgerPaths(old).join('" and "')}"`,
      );
  }
  // Before the database: they are never taken for those of the one that comes.
  for (const name of new Set([path, file.path])) moveLogs(name, name + end);
  if (!isThere) return null;
  nameToo(path, old);
  return old;
}

function nameToo(path: string, name: string): void {
  try {
    linkSync(path, name);
  } catch {
    // A file system whose files have one name each.
    renameSync(path, name);
  }
}

/**
 * A damaged database is a reason to restore: it is kept as it is, with its WAL and its ledger. So is
 * one that cannot take what its ledger has.
 *
 * @returns how many executions stay in the ledger alone, at most
 */
async function takeInLogs({ path, addon }: Pick<SqliteFile, "path" | "addon">): Promise<number> {
  // SQLite would delete the WAL beside an empty one.
  if (statSync(path).size === 0) return 0;
  const db = openDatabase(path, addon);
  try {
    await takeInLedger(db, { path, addon });
    db.pragma("wal_checkpoint(TRUNCATE)");
    return 0;
  } catch (error) {
    if (!isDamage(error) && !(error instanceof LedgerError)) throw error;
    return countBegun(db, { path, addon });
  } finally {
    db.close();
  }
}

/**
 * What the ledger of a database has and its tables lack, put into the tables of it or of a copy,
 * which are brought up to date for it. Where a service has gone on meanwhile, and the ledger with
 * it, the copy stays as it is: whole, as of the moment in which it was made.
 *
 * @throws LedgerError where a record cannot be put into them: none was
 */
async function takeInLedger(
  db: Database,
  { path, addon }: Pick<SqliteFile, "path" | "addon">,
): Promise<void> {
  const applied = readPosition(db);
  if (applied === null) return;
  using left = openLeft({ path: fileAt(path), addon }, path, applied);
  const read = (position: number) => unbroken(left.read(position), position);
  if (read(applied).next().done === true) return;
  const rows = new Kysely<Schema>({ dialect: new FileDialect(db) });
  await apply(rows, listDue(listApplied(db)));
  const applier = new Applier(db);
  db.transaction(() => {
    const [first, ...more] = applier.applyAll(read);
    if (first === undefined) return;
    throw new LedgerError(
      `The tables cannot take ${more.length + 1} of the records in the ledger: ${first}. Start the ` +
        `service once, which passes over them and says so in its log`,
    );
  }).immediate();
}

function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
