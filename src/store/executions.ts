import { sql, type RawBuilder, type Selectable, type SqlBool } from "kysely";
import type { Store } from "./database.ts";
import { builder, prepare, toStatement } from "./prepared.ts";
import { whileWanted } from "./reading.ts";
import type { ExecutionLogTable, ExecutionPayloadTable, ExecutionTable } from "./schema.ts";
import type { Statement, Unit } from "./thread-protocol.ts";

export type ExecutionRow = Selectable<ExecutionTable>;
export type PayloadRow = Selectable<ExecutionPayloadTable>;
export type LogRow = Selectable<ExecutionLogTable>;

/** What is written once an execution has ended. */
export interface EndedRow {
  readonly id: string;
  readonly status: string;
  readonly status_message: string | null;
  readonly ended_at: number;
  readonly output_value: string | null;
  readonly response: string | null;
}

export type PayloadInput = Omit<PayloadRow, "execution_id" | "output_value" | "response">;

const INSERT = prepare<ExecutionRow>((row) =>
  builder.insertInto("execution").values({
    id: row.id,
    status: row.status,
    status_message: row.status_message,
    webhook_id: row.webhook_id,
    webhook: row.webhook,
    flow: row.flow,
    flow_version: row.flow_version,
    is_productive: row.is_productive,
    is_async: row.is_async,
    project_id: row.project_id,
    role_id: row.role_id,
    acts_for: row.acts_for,
    created_by: row.created_by,
    parent_id: row.parent_id,
    replay_of: row.replay_of,
    created_at: row.created_at,
    started_at: row.started_at,
    ended_at: row.ended_at,
  }),
);

const INSERT_PAYLOAD = prepare<PayloadInput & { execution_id: string }>((row) =>
  builder.insertInto("execution_payload").values({
    execution_id: row.execution_id,
    input_value: row.input_value,
    raw_body_at: row.raw_body_at,
    raw_body: row.raw_body,
    target: row.target,
  }),
);

/** A new execution, with its input. */
export function insertExecution(row: ExecutionRow, input: PayloadInput): Unit {
  return [INSERT(row), INSERT_PAYLOAD({ ...input, execution_id: row.id })];
}

/** PENDING becomes RUNNING; fails with `not_pending` where it is not PENDING any more. */
export const runExecution = prepare<{ id: string; started_at: number }>(
  (row) =>
    builder
      .updateTable("execution")
      .set({ status: "RUNNING", started_at: row.started_at })
      .where("id", "=", row.id)
      .where("status", "=", "PENDING"),
  { expect: "not_pending" },
);

/** RUNNING becomes PENDING, for one that was marked and never ran. */
export const putBackExecution = prepare<{ id: string }>(({ id }) =>
  builder
    .updateTable("execution")
    .set({ status: "PENDING", started_at: null })
    .where("id", "=", id)
    .where("status", "=", "RUNNING"),
);

const END = prepare<EndedRow>(
  (row) =>
    builder
      .updateTable("execution")
      .set({ status: row.status, status_message: row.status_message, ended_at: row.ended_at })
      .where("id", "=", row.id)
      .where("status", "in", ["PENDING", "RUNNING"]),
  { expect: "already_ended" },
);

const END_PAYLOAD = prepare<EndedRow>((row) =>
  builder
    .updateTable("execution_payload")
    .set({ output_value: row.output_value, response: row.response })
    .where("execution_id", "=", row.id),
);

/** An ending; fails with `already_ended`: an ended status is written once. */
export function endExecution(row: EndedRow): Unit {
  const is_narrow = row.output_value === null && row.response === null;
  return is_narrow ? [END(row)] : [END(row), END_PAYLOAD(row)];
}

export const insertLogLine = prepare<Omit<LogRow, "seq">>((row) =>
  builder.insertInto("execution_log").values({
    execution_id: row.execution_id,
    at: row.at,
    level: row.level,
    text: row.text,
  }),
);

/** One connection of a month; fails with `allowance_used` at the limit, which is at least 1. */
export const countConnection = prepare<{ month: string; limit: number }>(
  ({ month, limit }) =>
    builder
      .insertInto("connection_usage")
      .values({ month, used: 1 })
      .onConflict((conflict) =>
        conflict
          .column("month")
          .doUpdateSet((e) => ({ used: e("connection_usage.used", "+", 1) }))
          .where("connection_usage.used", "<", limit),
      ),
  { expect: "allowance_used" },
);

const EXECUTION = prepare<{ id: string }>(({ id }) =>
  builder.selectFrom("execution").selectAll().where("id", "=", id),
);

export function findExecution(store: Store, id: string): Promise<ExecutionRow | undefined> {
  return store.find(EXECUTION({ id }));
}

const ANCESTORS = prepare<{ id: string }>(({ id }) =>
  builder
    .withRecursive("line", (db) =>
      db
        .selectFrom("execution")
        .select("parent_id")
        .where("id", "=", id)
        .where("parent_id", "is not", null)
        .unionAll(
          db
            .selectFrom("execution")
            .innerJoin("line", "line.parent_id", "execution.id")
            .select("execution.parent_id")
            .where("execution.parent_id", "is not", null),
        ),
    )
    .selectFrom("line")
    .select((eb) => eb.fn.countAll<number>().as("count")),
);

/** How many executions led to this one: its parent, that one's parent, as far as they are kept. */
export async function countAncestors(store: Store, id: string): Promise<number> {
  const found = await store.find<{ count: number }>(ANCESTORS({ id }));
  return found?.count ?? 0;
}

const PAYLOAD = prepare<{ id: string }>(({ id }) =>
  builder.selectFrom("execution_payload").selectAll().where("execution_id", "=", id),
);

export function findPayload(store: Store, id: string): Promise<PayloadRow | undefined> {
  return store.find(PAYLOAD({ id }));
}

export interface ExecutionFilter {
  /** Any of these. */
  readonly statuses?: readonly string[] | undefined;
  readonly webhook?: string | undefined;
  readonly flow?: string | undefined;
  readonly project_id?: string | undefined;
  readonly parent_id?: string | undefined;
  /** Created from this time on, and before that; milliseconds since the epoch. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** What the status message contains, in any case. */
  readonly text?: string | undefined;
  /** Only what ran in these projects; null or undefined: in any. */
  readonly project_ids?: readonly string[] | null | undefined;
  /** Identifiers before this one (after it, when ascending). */
  readonly after?: string | undefined;
  readonly ascending?: boolean | undefined;
  readonly limit: number;
}

/** Newest first: identifiers grow with time. */
export function listExecutions(store: Store, filter: ExecutionFilter): Promise<ExecutionRow[]> {
  let query = store.lists.selectFrom("execution").selectAll().where(whileWanted());
  query = query.limit(filter.limit);
  query = query.orderBy("id", filter.ascending ? "asc" : "desc");
  for (const column of ["webhook", "flow", "project_id", "parent_id"] as const) {
    const value = filter[column];
    if (value !== undefined) query = query.where(column, "=", value);
  }
  if (filter.statuses !== undefined) query = query.where(hasStatus(filter.statuses));
  if (filter.from !== undefined) query = query.where("id", ">=", toFirstId(filter.from));
  if (filter.to !== undefined) query = query.where("id", "<", toFirstId(filter.to));
  if (filter.text !== undefined) query = query.where(contains("status_message", filter.text));
  if (filter.project_ids) query = query.where("project_id", "in", [...filter.project_ids, ""]);
  if (filter.after !== undefined)
    query = query.where("id", filter.ascending ? ">" : "<", filter.after);
  return query.execute();
}

const FAILURES = ["ENDED_CANCELLED", "ENDED_ERROR", "ENDED_TIMEOUT"];

/** Written out, so that the planner sees that the index of failures or unended ones fits. */
function hasStatus(statuses: readonly string[]): RawBuilder<SqlBool> {
  const is_failure = statuses.every((status) => FAILURES.includes(status));
  const is_unended = statuses.every((status) => status === "PENDING" || status === "RUNNING");
  const list = sql.join(statuses.map((status) => sql.lit(status)));
  if (is_failure)
    return sql<SqlBool>`status in ('ENDED_CANCELLED', 'ENDED_ERROR', 'ENDED_TIMEOUT') and status in (${list})`;
  if (is_unended) return sql<SqlBool>`ended_at is null and status in (${list})`;
  return sql<SqlBool>`status in (${list})`;
}

/** Whether a column contains a text, whatever its case. */
export function contains(column: string, text: string): RawBuilder<SqlBool> {
  const pattern = `%${text.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
  return sql<SqlBool>`lower(${sql.ref(column)}) like ${pattern} escape '\\'`;
}

/** The smallest identifier (UUID version 7) of a time in milliseconds since the epoch. */
export function toFirstId(at: number): string {
  const time = Math.max(0, Math.floor(at)).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8, 12)}`;
}

export function listLog(
  store: Store,
  execution_id: string,
  page: { after: number; limit: number },
): Promise<LogRow[]> {
  return store.lists
    .selectFrom("execution_log")
    .selectAll()
    .where("execution_id", "=", execution_id)
    .where("seq", ">", page.after)
    .orderBy("seq")
    .limit(page.limit)
    .execute();
}

/** Unended executions, oldest first, after an identifier. */
export function listUnended(
  store: Store,
  status: "PENDING" | "RUNNING",
  page: { after: string; limit: number },
): Promise<ExecutionRow[]> {
  return store.rows
    .selectFrom("execution")
    .selectAll()
    .where("status", "=", status)
    .where("ended_at", "is", null)
    .where("id", ">", page.after)
    .orderBy("id")
    .limit(page.limit)
    .execute();
}

/** Ends every execution that was in a thread when the service stopped (section 3.2). */
export function interruptRunning(store: Store, at: number): Statement {
  const query = store.rows
    .updateTable("execution")
    .set({ status: "ENDED_ERROR", status_message: "interrupted by a restart", ended_at: at })
    .where("status", "=", "RUNNING")
    .where("ended_at", "is", null);
  return toStatement(query);
}

export async function connectionsUsed(store: Store, month: string): Promise<number> {
  const row = await store.rows
    .selectFrom("connection_usage")
    .select("used")
    .where("month", "=", month)
    .executeTakeFirst();
  return row?.used ?? 0;
}
