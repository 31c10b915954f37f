import { sql, type Kysely } from "kysely";

/** How far the ledger has been applied; see sqlite/ledger.ts. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("ledger")
    .addColumn("applied", "integer", (c) => c.notNull())
    .addColumn("emptied", "integer", (c) => c.notNull())
    .execute();
  await sql`insert into ledger (applied, emptied) values (0, 0)`.execute(db);
}
