import type { Kysely } from "kysely";

/** How often a webhook may be called, and how many of its runs are at once; null: no limit. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("webhook").addColumn("limits", "text").execute();
}
