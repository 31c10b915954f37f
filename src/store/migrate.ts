import { sql, type Kysely } from "kysely";
import { now } from "../lib/clock.ts";
import { StartFault } from "../lib/errors.ts";
import { MIGRATIONS } from "./migrations/migrations.ts";
import type { Schema } from "./schema.ts";

/** @throws StartFault where the database was written by a newer version */
export function refuseNewer(applied: readonly string[]): void {
  const unknown = applied.find((name) => !MIGRATIONS.has(name));
  if (unknown === undefined) return;
  throw new StartFault(
    `Cannot open the database: it was written by a newer version of Flowhook ` +
      `(migration "${unknown}" is not known here). Start that version, or restore a backup`,
  );
}

/**
 * Brings the tables up to this version, all in one transaction: a start that fails leaves the
 * file as it was. A database that is not new is copied first.
 *
 * @param applied names of the migrations that the file has
 * @param path the database file; the copy lies beside it
 */
export async function migrate(
  db: Kysely<Schema>,
  applied: readonly string[],
  path: string,
): Promise<void> {
  const due = [...MIGRATIONS].filter(([name]) => !applied.includes(name));
  if (due.length === 0) return;
  const [first] = due[0] as [string, unknown];
  if (applied.length > 0)
    await sql`vacuum into ${sql.lit(`${path}.before-${first}-${now()}`)}`.execute(db);
  await apply(
    db,
    due.map(([name]) => name),
  );
}

/** Applies these migrations, in one transaction. */
export async function apply(db: Kysely<Schema>, names: readonly string[]): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.schema
      .createTable("migration")
      .ifNotExists()
      .addColumn("name", "text", (c) => c.primaryKey())
      .addColumn("applied_at", "bigint", (c) => c.notNull())
      .execute();
    for (const name of names) {
      await MIGRATIONS.get(name)?.(tx as unknown as Kysely<unknown>);
      await tx.insertInto("migration").values({ name, applied_at: now() }).execute();
    }
  });
}
