import type { Kysely } from "kysely";

const FAILED = ["ENDED_CANCELLED", "ENDED_ERROR", "ENDED_TIMEOUT"];

/**
 * Claims that have expired are deleted each minute: all of them were read for that. And of millions of
 * one webhook, or of all that have failed, few are both.
 */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createIndex("execution_claim_expires_at")
    .on("execution_claim")
    .column("expires_at")
    .execute();
  for (const column of ["webhook", "flow"])
    await schema
      .createIndex(`execution_failed_${column}`)
      .on("execution")
      .column(column)
      .where("status" as never, "in", FAILED as never)
      .execute();
}
