import { sql, type RawBuilder, type SqlBool } from "kysely";
import { isEnded } from "../../shared/contract/status.ts";
import { firstKeyOf } from "../../shared/id.ts";
import type { Store } from "./store.ts";
import { toKey } from "./execution-key.ts";
import type { ExecutionRow } from "./execution-row.ts";
import { COLUMNS, type LogRow } from "./executions.ts";

/** Lists of executions and of what they logged, answered by the readers' threads. */

export interface ExecutionFilter {
  /** Any of these. */
  readonly statuses?: readonly string[] | undefined;
  readonly webhook?: string | undefined;
  readonly flow?: string | undefined;
  readonly project_id?: string | undefined;
  readonly parent_id?: string | undefined;
  readonly replay_of?: string | undefined;
  readonly role_id?: string | undefined;
  /** The user's id. */
  readonly created_by?: string | undefined;
  /** Created from this time on, and before that; milliseconds since the epoch. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** What the status message contains, in any case. */
  readonly text?: string | undefined;
  /** Only what ran in these projects; null or undefined: in any. */
  readonly projectIds?: readonly string[] | null | undefined;
  /** Identifiers before this one (after it, when ascending). */
  readonly after?: string | undefined;
  readonly ascending?: boolean | undefined;
  readonly limit: number;
}

const EQUAL = [
  "webhook",
  "flow",
  "project_id",
  "parent_id",
  "replay_of",
  "role_id",
  "created_by",
] as const satisfies (keyof ExecutionFilter)[];

/** Newest first: identifiers grow with time. */
export function listExecutions(store: Store, filter: ExecutionFilter): Promise<ExecutionRow[]> {
  let query = store.lists
    .selectFrom("execution")
    .select(COLUMNS)
    .where(store.dialect.whileWanted());
  query = query.limit(filter.limit);
  query = query.orderBy("key", filter.ascending ? "asc" : "desc");
  if (filter.parent_id !== undefined)
    query = query.where("parent_key", "=", toKey(filter.parent_id));
  for (const column of EQUAL) {
    const value = filter[column];
    if (value !== undefined) query = query.where(column, "=", value);
  }
  if (filter.statuses !== undefined) query = query.where(hasStatus(filter.statuses));
  if (filter.from !== undefined) query = query.where("key", ">=", firstKeyOf(filter.from));
  if (filter.to !== undefined) query = query.where("key", "<", firstKeyOf(filter.to));
  if (filter.text !== undefined)
    query = query.where(store.dialect.contains(sql.ref("status_message"), filter.text));
  if (filter.projectIds) query = query.where("project_id", "in", [...filter.projectIds, ""]);
  if (filter.after !== undefined)
    query = query.where("key", filter.ascending ? ">" : "<", toKey(filter.after));
  return query.execute();
}

/** Those that the index `execution_failed` is of, in the words of its migration. */
const INDEXED = ["ENDED_CANCELLED", "ENDED_ERROR", "ENDED_TIMEOUT"];

/** Written out, so that the planner sees that this index, or that of unended ones, fits. */
function hasStatus(statuses: readonly string[]): RawBuilder<SqlBool> {
  const isIndexed = statuses.every((status) => INDEXED.includes(status));
  const isUnended = statuses.every((status) => !isEnded(status));
  const list = sql.join(statuses.map((status) => sql.lit(status)));
  if (isIndexed)
    return sql<SqlBool>`status in (${sql.join(INDEXED.map((one) => sql.lit(one)))}) and status in (${list})`;
  if (isUnended) return sql<SqlBool>`ended_at is null and status in (${list})`;
  return sql<SqlBool>`status in (${list})`;
}

export function listLog(
  store: Store,
  executionId: string,
  page: { after: number; limit: number },
): Promise<LogRow[]> {
  return store.lists
    .selectFrom("execution_log")
    .select(["seq", "at", "level", "text"])
    .where("execution_key", "=", (e) =>
      e
        .selectFrom("execution")
        .select("key")
        .where("key", "=", toKey(executionId))
        .where("id", "=", executionId),
    )
    .where("seq", ">", page.after)
    .orderBy("seq")
    .limit(page.limit)
    .execute();
}
