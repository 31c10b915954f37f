import type { Kysely } from "kysely";

/** Lists are filtered by these too. Most executions have neither, and cost nothing more. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ["replay_of", "created_by"])
    await db.schema
      .createIndex(`execution_${column}`)
      .on("execution")
      .columns([column])
      .where(column as never, "is not", null)
      .execute();
}
