import { sql, type Kysely } from "kysely";

/** The flows that nodes offer each other, with their files. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("flow_file")
    .addColumn("hash", "text", (c) => c.primaryKey())
    .addColumn("bytes", sql`bytea`, (c) => c.notNull())
    .addColumn("offered_at", "bigint", (c) => c.notNull())
    .execute();
  await db.schema
    .createTable("flow_version")
    .addColumn("flow", "text", (c) => c.notNull())
    .addColumn("version", "text", (c) => c.notNull())
    .addColumn("entry", "text", (c) => c.notNull())
    .addColumn("files", "text", (c) => c.notNull())
    .addColumn("seal", "text", (c) => c.notNull())
    .addColumn("offered_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("flow_version_key", ["flow", "version"])
    .execute();
  await db.schema
    .createTable("node_flow")
    .addColumn("folder_id", "text", (c) => c.notNull())
    .addColumn("flow", "text", (c) => c.notNull())
    .addColumn("version", "text", (c) => c.notNull())
    .addColumn("bundle", "text")
    .addColumn("node_id", "text", (c) => c.notNull())
    .addColumn("node_name", "text", (c) => c.notNull())
    .addColumn("taken_at", "bigint", (c) => c.notNull())
    .addColumn("seal", "text", (c) => c.notNull())
    .addPrimaryKeyConstraint("node_flow_key", ["folder_id", "flow"])
    .addForeignKeyConstraint("node_flow_version", ["flow", "version"], "flow_version", [
      "flow",
      "version",
    ])
    .execute();
  await db.schema
    .createTable("flow_offers")
    .addColumn("revision", "bigint", (c) => c.notNull())
    .execute();
  await sql`insert into flow_offers (revision) values (0)`.execute(db);
}
