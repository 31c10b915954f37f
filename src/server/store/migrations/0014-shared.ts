import { sql, type Kysely } from "kysely";

/** What services on one database have to know of each other. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("key_check")
    .addColumn("id", "integer", (c) => c.primaryKey())
    .addColumn("hmac", "text", (c) => c.notNull())
    .execute();
  // Counted in parts, so that the begins of two services do not wait for each other.
  await sql`alter table connection_usage add column part integer not null default 0,
    drop constraint connection_usage_pkey, add primary key (month, part)`.execute(db);
  // Not worth a write that outlives a crash of the server.
  await sql`create unlogged table attempt
    (key text primary key, failures integer not null, failed_at bigint not null)`.execute(db);
}
