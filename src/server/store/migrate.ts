import type { Kysely } from "kysely";
import { now } from "../../shared/clock.ts";
import { StartError } from "../../shared/errors.ts";
import { NEVER } from "../../shared/stopping.ts";
import type { Progress } from "./migrations/migration.ts";
import { MIGRATIONS, POSTGRES_ONLY } from "./migrations/migrations.ts";
import type { Schema } from "./schema.ts";

/** @throws StartError where the database was written by a newer version */
export function refuseNewer(applied: readonly string[]): void {
  const unknown = applied.find((name) => !MIGRATIONS.has(name));
  if (unknown === undefined) return;
  throw new StartError(
    `Cannot open the database: it was written by a newer version of Flowhook ` +
      `(migration "${unknown}" is not known here). Start that version, or restore a backup`,
  );
}

/** @returns names of the migrations that a store with those lacks, in their order */
export function listDue(applied: readonly string[], isPostgres = false): string[] {
  const names = [...MIGRATIONS.keys()].filter((name) => isPostgres || !POSTGRES_ONLY.has(name));
  return names.filter((name) => !applied.includes(name));
}

const TELL_MS = 2000;

/**
 * Tells from time to time how far it is.
 *
 * @param stopping what is told of goes no further once it is aborted: its reason is thrown there
 */
export function openProgress(tell: (line: string) => void, stopping = NEVER): Progress {
  let told = performance.now();
  return (done, total) => {
    stopping.throwIfAborted();
    if (performance.now() - told < TELL_MS) return;
    told = performance.now();
    tell(`Bringing the database up to date: ${done} of ${total} executions`);
  };
}

/** Applies these migrations, in one transaction. */
export async function apply(
  db: Kysely<Schema>,
  names: readonly string[],
  progress: Progress = () => {},
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.schema
      .createTable("migration")
      .ifNotExists()
      .addColumn("name", "text", (c) => c.primaryKey())
      .addColumn("applied_at", "bigint", (c) => c.notNull())
      .execute();
    for (const name of names) {
      await MIGRATIONS.get(name)?.(tx as unknown as Kysely<unknown>, progress);
      await tx.insertInto("migration").values({ name, applied_at: now() }).execute();
    }
  });
}
