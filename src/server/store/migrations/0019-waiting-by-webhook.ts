import { sql, type Kysely } from "kysely";

/**
 * Which of a webhook that limits its executions is to start next, on whichever node it waits. What
 * starts at once is never in this index, and costs nothing more.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index execution_waiting on execution ((coalesce(webhook_id, '')), key)
    where status = 'PENDING' and ended_at is null`.execute(db);
}
