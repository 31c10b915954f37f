import { sql, type Kysely } from "kysely";

/** Which of several services has an execution: its name, which outlives it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table execution add column node text`.execute(db);
}
