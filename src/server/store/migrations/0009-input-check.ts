import { sql, type Kysely } from "kysely";

/** Who refuses an input that does not fit; what is there keeps today's behaviour. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table webhook add column input_check text not null default 'run'`.execute(db);
}
