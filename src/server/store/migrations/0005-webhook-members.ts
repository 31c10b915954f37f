import type { Kysely } from "kysely";

/** What a webhook says of its answers. What is there keeps today's behaviour. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("webhook")
    .addColumn("default_mode", "text", (c) => c.notNull().defaultTo("sync"))
    .execute();
  await db.schema
    .alterTable("webhook")
    .addColumn("async_status", "integer", (c) => c.notNull().defaultTo(201))
    .execute();
}
