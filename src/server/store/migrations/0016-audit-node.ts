import { sql, type Kysely } from "kysely";

/** Which of several services took the request. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table audit add column node text`.execute(db);
}
