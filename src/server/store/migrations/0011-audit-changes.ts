import { sql, type Kysely } from "kysely";

/** From what to what members changed; of what is there, nobody knows any more. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table audit add column changes text`.execute(db);
}
