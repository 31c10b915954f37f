import { sql, type RawBuilder } from "kysely";
import { UNENDED } from "../../shared/contract/status.ts";
import { requireKey, toKey } from "./execution-key.ts";
import type { ExecutionRow } from "./execution-row.ts";
import { COLUMNS } from "./executions.ts";
import { toStatement } from "./prepared.ts";
import type { Statement } from "./statement.ts";
import type { Store } from "./store.ts";

/** Unended executions, oldest first, after an identifier; after "" from the first on. */
export function listUnended(
  store: Store,
  status: (typeof UNENDED)[number],
  page: { after: string; limit: number },
): Promise<ExecutionRow[]> {
  return store.rows
    .selectFrom("execution")
    .select(COLUMNS)
    .where("status", "=", status)
    .where("ended_at", "is", null)
    .where("key", ">", toKey(page.after) ?? Number.MIN_SAFE_INTEGER)
    .orderBy("key")
    .limit(page.limit)
    .execute();
}

/** Versions of flows of which executions wait, or were in a thread, as `name@version`. */
export async function listUnendedVersions(store: Pick<Store, "rows">): Promise<string[]> {
  const rows = await store.rows
    .selectFrom("execution")
    .select(["flow", "flow_version"])
    .distinct()
    .where("status", "in", UNENDED)
    .where("ended_at", "is", null)
    .where("flow_version", "is not", null)
    .execute();
  return rows.map(({ flow, flow_version }) => `${flow}@${flow_version}`);
}

/** Executions that wait on a node, oldest first. */
export function listWaitingOf(store: Store, node: string): Promise<ExecutionRow[]> {
  return store.rows
    .selectFrom("execution")
    .select(COLUMNS)
    .where("status", "=", "PENDING")
    .where("ended_at", "is", null)
    .where(sql.ref("node_id"), "=", node)
    .orderBy("key")
    .execute();
}

/** One that waits on a node is for whichever takes it, as what a lost one has left. */
export function releaseWaiting(store: Store, id: string, node: string): Statement {
  const query = store.rows
    .updateTable("execution")
    .set(sql.ref("node_id"), null)
    .where("key", "=", requireKey(id))
    .where("id", "=", id)
    .where("status", "=", "PENDING")
    .where("ended_at", "is", null)
    .where(sql.ref("node_id"), "=", node);
  return toStatement(query);
}

/** Why what was in a thread when the service stopped has ended. */
export const INTERRUPTED = "interrupted by a restart";

/** Ends every execution that was in a thread when the service stopped (section 3.2). */
export function interruptRunning(store: Pick<Store, "rows">, at: number): Statement {
  const query = store.rows
    .updateTable("execution")
    .set({ status: "ENDED_ERROR", status_message: INTERRUPTED, ended_at: notBeforeStart(at) })
    .where("status", "=", "RUNNING")
    .where("ended_at", "is", null);
  return toStatement(query);
}

/** Ends an execution, whoever has it, unless it has ended. */
export function cancelUnended(store: Store, id: string, reason: string, at: number): Statement {
  const query = store.rows
    .updateTable("execution")
    .set({ status: "ENDED_CANCELLED", status_message: reason, ended_at: notBeforeStart(at) })
    .where("key", "=", requireKey(id))
    .where("id", "=", id)
    .where("ended_at", "is", null);
  return toStatement(query);
}

/** A clock that was set back since lets nothing end before it began. */
function notBeforeStart(at: number): RawBuilder<number> {
  const begun = sql`coalesce(started_at, created_at)`;
  return sql<number>`case when ${begun} > ${at} then ${begun} else ${at} end`;
}
