import { closeSync, renameSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Database } from "better-sqlite3";
import type { Kysely } from "kysely";
import { now } from "../../../shared/clock.ts";
import { StartError } from "../../../shared/errors.ts";
import { NEVER } from "../../../shared/stopping.ts";
import { apply, listDue, openProgress } from "../migrate.ts";
import type { Schema } from "../schema.ts";
import { removePartial } from "./backup.ts";
import { listApplied } from "./damage.ts";
import { TakenError, type DataLock } from "./lock.ts";
import { makeFile } from "./new-file.ts";

/** Copied in one step of some milliseconds; between two of them a signal is heard. */
const STEP_PAGES = 5000;

export interface MigrateOptions {
  /** Takes a line for whoever waits for it. */
  readonly tell: (line: string) => void;
  /** Aborted once nobody wants it any more. */
  readonly stopping?: AbortSignal | undefined;
  /**
   * Of who is no service: takes the file for itself meanwhile.
   *
   * @throws TakenError where a service has it: its release may be the older one
   */
  readonly takeLock?: (() => DataLock) | undefined;
  /** Of who only reads: leaves tables of an earlier version as they are, and is refused. */
  readonly isReading?: boolean | undefined;
}

/**
 * Brings the tables up to this version, all in one transaction: a start that fails leaves the
 * file as it was. A database that is not new is copied first.
 *
 * @param applied names of the migrations that the file has
 * @param connection to the database file; the copy lies beside it
 * @throws StartError where the disk has no room for it, a service uses the file, or it is only read
 * @throws the reason of `stopping`
 */
export async function migrateFile(
  db: Kysely<Schema>,
  applied: readonly string[],
  connection: Database,
  options: MigrateOptions,
): Promise<void> {
  if (listDue(applied).length === 0) return;
  if (options.isReading === true && applied.length > 0)
    throw new StartError(
      `The database "${connection.name}" is that of an earlier version: the next start of the ` +
        `service brings it up to date`,
    );
  const lock = options.takeLock && takeAlone(connection.name, options.takeLock);
  try {
    await migrate(db, connection, options);
  } finally {
    lock?.release();
  }
}

function takeAlone(path: string, takeLock: () => DataLock): DataLock {
  try {
    return takeLock();
  } catch (error) {
    if (!(error instanceof TakenError)) throw error;
    throw new StartError(
      `The database "${path}" is that of an earlier version, whose service runs. Restart the service ` +
        `with this version first: it brings the database up to date`,
    );
  }
}

async function migrate(
  db: Kysely<Schema>,
  connection: Database,
  { tell, stopping = NEVER }: MigrateOptions,
): Promise<void> {
  // Whoever had the file until now may have brought it up to date.
  const applied = listApplied(connection);
  const due = listDue(applied);
  const [first] = due;
  if (first === undefined) return;
  if (applied.length === 0) return apply(db, due);
  const path = connection.name;
  const copy = `${path}.before-${first}`;
  // The copy has its name once it is needed: a start that is killed leaves no more than one behind.
  const beside = `${copy}.partial`;
  removePartial(beside);
  requireSpace(path);
  tell(`The database is brought up to date; it is copied to "${copy}-..." first`);
  try {
    await copyTo(beside, connection, stopping);
    await apply(db, due, openProgress(tell, stopping));
    renameSync(beside, `${copy}-${now()}`);
  } finally {
    removePartial(beside);
  }
  tell("The database is up to date");
}

async function copyTo(path: string, connection: Database, stopping: AbortSignal): Promise<void> {
  const progress = (): number => {
    stopping.throwIfAborted();
    return STEP_PAGES;
  };
  // For the service, where root makes it: before it has a word in it.
  closeSync(makeFile(path));
  await connection.backup(path, { progress });
  // One file: with a WAL nobody could read it where its folder cannot be written.
  connection.prepare("attach ? as copy").run(path);
  connection.pragma("copy.journal_mode = DELETE");
  connection.exec("detach copy");
}

/** The copy, and what the transaction writes, are each as large as the database. */
function requireSpace(path: string): void {
  const folder = dirname(path);
  const { bavail, bsize } = statfsSync(folder);
  const needed = 2 * statSync(path).size;
  if (bavail * bsize >= needed) return;
  const [has, needs] = [bavail * bsize, needed].map((bytes) => `${Math.ceil(bytes / 2 ** 20)} MB`);
  throw new StartError(
    `Cannot bring the database up to date: it needs ${needs} of free disk space in "${folder}", ` +
      `and there are ${has}. Nothing was changed`,
  );
}
