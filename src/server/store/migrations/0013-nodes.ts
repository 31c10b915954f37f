import { sql, type Kysely } from "kysely";

/** Services that share the database, and who has an execution. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("node")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("version", "text", (c) => c.notNull())
    .addColumn("folder_id", "text", (c) => c.notNull().unique())
    .addColumn("folder_place", "text", (c) => c.notNull())
    .addColumn("slot", "bigint", (c) => c.notNull().unique())
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("running", "bigint", (c) => c.notNull())
    .addColumn("waiting", "bigint", (c) => c.notNull())
    .addColumn("started_at", "bigint", (c) => c.notNull())
    .addColumn("lease_until", "bigint", (c) => c.notNull())
    .execute();
  await sql`alter table execution add column node_id text`.execute(db);
  // What is lost with a crash of the database is told again within a second.
  await sql`create unlogged table awaited (execution_key bigint not null, node_id text not null,
    until_at bigint not null, primary key (execution_key, node_id))`.execute(db);
}
