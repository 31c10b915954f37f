import { sql, type Kysely } from "kysely";

/** What services on one database have to know of each other. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("key_check")
    .addColumn("id", "integer", (c) => c.primaryKey())
    .addColumn("hmac", "text", (c) => c.notNull())
    .execute();
  // Not worth a write that outlives a crash of the server.
  await sql`create unlogged table attempt
    (key text primary key, failures integer not null, failed_at bigint not null)`.execute(db);
}
