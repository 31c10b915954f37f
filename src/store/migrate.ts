import type { Kysely } from "kysely";
import { now } from "../lib/clock.ts";
import { MIGRATIONS } from "./migrations/migrations.ts";
import type { Schema } from "./schema.ts";

/**
 * Brings the tables up to this version, all in one transaction: a start that fails leaves the
 * file as it was.
 *
 * @throws Error where the database was written by a newer version
 */
export async function migrate(db: Kysely<Schema>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.schema
      .createTable("migration")
      .ifNotExists()
      .addColumn("name", "text", (c) => c.primaryKey())
      .addColumn("applied_at", "bigint", (c) => c.notNull())
      .execute();
    const rows = await tx.selectFrom("migration").select("name").execute();
    const applied = new Set(rows.map((row) => row.name));
    refuseNewer(applied);
    for (const [name, up] of MIGRATIONS) {
      if (applied.has(name)) continue;
      await up(tx as unknown as Kysely<unknown>);
      await tx.insertInto("migration").values({ name, applied_at: now() }).execute();
    }
  });
}

function refuseNewer(applied: ReadonlySet<string>): void {
  const unknown = [...applied].filter((name) => !MIGRATIONS.has(name));
  if (unknown.length === 0) return;
  throw new Error(
    `Cannot open the database: it was written by a newer version of Flowhook ` +
      `(migration "${unknown[0]}" is not known here). Start that version, or restore a backup`,
  );
}
