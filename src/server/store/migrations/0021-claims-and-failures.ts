import type { Kysely } from "kysely";

/** Claims that have expired are deleted each minute: all of them were read for that. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex("execution_claim_expires_at")
    .on("execution_claim")
    .column("expires_at")
    .execute();
}
