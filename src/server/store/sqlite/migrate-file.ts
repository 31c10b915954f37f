import { renameSync, rmSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { sql, type Kysely } from "kysely";
import { now } from "../../../shared/clock.ts";
import { StartError } from "../../../shared/errors.ts";
import { apply, listDue, openProgress } from "../migrate.ts";
import type { Schema } from "../schema.ts";

/**
 * Brings the tables up to this version, all in one transaction: a start that fails leaves the
 * file as it was. A database that is not new is copied first.
 *
 * @param applied names of the migrations that the file has
 * @param path the database file; the copy lies beside it
 * @param tell takes a line for whoever waits for it
 * @throws StartError where the disk has no room for it
 */
export async function migrateFile(
  db: Kysely<Schema>,
  applied: readonly string[],
  path: string,
  tell: (line: string) => void,
): Promise<void> {
  const due = listDue(applied);
  const [first] = due;
  if (first === undefined) return;
  if (applied.length === 0) return apply(db, due);
  const copy = `${path}.before-${first}`;
  // The copy has its name once it is needed: a start that is killed leaves no more than one behind.
  const beside = `${copy}.partial`;
  rmSync(beside, { force: true });
  requireSpace(path);
  tell(`The database is brought up to date; it is copied to "${copy}-..." first`);
  try {
    await sql`vacuum into ${sql.lit(beside)}`.execute(db);
    await apply(db, due, openProgress(tell));
    renameSync(beside, `${copy}-${now()}`);
  } finally {
    rmSync(beside, { force: true });
  }
  tell("The database is up to date");
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
