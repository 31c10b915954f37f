import type { Kysely } from "kysely";

/** When each key of a webhook was last used, so that a replaced one can be let go knowingly. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ["key_used_at", "previous_key_used_at"])
    await db.schema.alterTable("webhook").addColumn(column, "bigint").execute();
}
