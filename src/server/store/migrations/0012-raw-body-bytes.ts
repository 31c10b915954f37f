import { sql, type Kysely } from "kysely";

/** A body as it was sent may hold U+0000, which no text of PostgreSQL can. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table execution_input
    alter column raw_body type bytea using convert_to(raw_body, 'UTF8')`.execute(db);
}
