import type { Kysely } from "kysely";

/** Which pages may read a webhook's answers, and what headers these have; none of it before. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ["cors", "response_headers"])
    await db.schema.alterTable("webhook").addColumn(column, "text").execute();
}
