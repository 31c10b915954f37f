import { firstKeyOf } from "../../shared/id.ts";
import { UNENDED, type EndedStatus } from "../../shared/contract/status.ts";
import type { Selectable } from "kysely";
import type { Store } from "./store.ts";
import type { ExecutionRow, PayloadInput } from "./execution-row.ts";
import { requireKey, toKey } from "./execution-key.ts";
import { newUnavailable } from "./store-error.ts";
import { builder, derive, prepare } from "./prepared.ts";
import type { ExecutionLogTable, ExecutionOutputTable } from "./schema.ts";
import type { Unit } from "./statement.ts";

export type PayloadRow = PayloadInput & Omit<Selectable<ExecutionOutputTable>, "execution_key">;
export type LogRow = Omit<Selectable<ExecutionLogTable>, "execution_key">;

export const COLUMNS = [
  "id",
  "status",
  "status_message",
  "webhook_id",
  "webhook",
  "flow",
  "flow_version",
  "is_productive",
  "is_async",
  "project_id",
  "role_id",
  "acts_for",
  "created_by",
  "parent_id",
  "replay_of",
  "address",
  "verified",
  "node",
  "created_at",
  "started_at",
  "ended_at",
] as const satisfies (keyof ExecutionRow)[];

/** What is written once an execution has ended. */
export interface EndedRow {
  readonly id: string;
  readonly status: EndedStatus;
  readonly status_message: string | null;
  readonly ended_at: number;
  readonly output_value: string | null;
  readonly response: string | null;
}

// Keys never come first: V8 lays out a list that begins with a large number for numbers alone, and
// anew when a text follows, which doubles what a statement costs.

const INSERT = prepare<ExecutionRow>((row) =>
  builder.insertInto("execution").values({
    id: row.id,
    key: derive(({ id }: ExecutionRow) => requireKey(id)),
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
    parent_key: derive(({ parent_id }: ExecutionRow) =>
      parent_id === null ? null : toKey(parent_id),
    ),
    replay_of: row.replay_of,
    // A ledger that an earlier version has left does not have them.
    address: derive(({ address = null }: Partial<ExecutionRow>) => address),
    verified: derive(({ verified = null }: Partial<ExecutionRow>) => verified),
    created_at: row.created_at,
    started_at: row.started_at,
    ended_at: row.ended_at,
  }),
);

const INSERT_INPUT = prepare<PayloadInput & { execution_key: number }>((row) =>
  builder.insertInto("execution_input").values({
    input_value: row.input_value,
    execution_key: row.execution_key,
    raw_body_at: row.raw_body_at,
    raw_body: row.raw_body,
    target: row.target,
  }),
);

/** The key of the execution that a statement's `id` names. */
const KEY = derive(({ id }: { id: string }) => toKey(id));

/** An execution with its input; one that has ended before it is written, with its output. */
export function insertExecution(
  row: ExecutionRow,
  input: PayloadInput,
  output: EndedRow | null = null,
): Unit {
  const unit = [INSERT(row), INSERT_INPUT({ ...input, execution_key: requireKey(row.id) })];
  if (output !== null && hasOutput(output)) unit.push(INSERT_OUTPUT(output));
  return unit;
}

function hasOutput({ output_value, response }: EndedRow): boolean {
  return output_value !== null || response !== null;
}

/** PENDING becomes RUNNING; fails with `not_pending` where it is not PENDING any more. */
export const runExecution = prepare<{ id: string; started_at: number }>(
  (row) =>
    builder
      .updateTable("execution")
      .set({ status: "RUNNING", started_at: row.started_at })
      .where("key", "=", KEY)
      .where("status", "=", "PENDING"),
  { expect: "not_pending" },
);

/** RUNNING becomes PENDING, for one that was marked and never ran. */
export const requeueExecution = prepare<{ id: string }>(() =>
  builder
    .updateTable("execution")
    .set({ status: "PENDING", started_at: null })
    .where("key", "=", KEY)
    .where("status", "=", "RUNNING"),
);

const END = prepare<EndedRow>(
  (row) =>
    builder
      .updateTable("execution")
      .set({ status: row.status, status_message: row.status_message, ended_at: row.ended_at })
      .where("key", "=", KEY)
      .where("status", "in", UNENDED),
  { expect: "already_ended" },
);

const INSERT_OUTPUT = prepare<EndedRow>((row) =>
  builder.insertInto("execution_output").values({
    output_value: row.output_value,
    execution_key: derive(({ id }: EndedRow) => requireKey(id)),
    response: row.response,
  }),
);

/** An ending; fails with `already_ended`: an ended status is written once. */
export function endExecution(row: EndedRow): Unit {
  return hasOutput(row) ? [END(row), INSERT_OUTPUT(row)] : [END(row)];
}

interface LogLine extends Omit<LogRow, "seq"> {
  readonly executionId: string;
}

export const insertLogLine = prepare<LogLine>((row) =>
  builder.insertInto("execution_log").values({
    execution_key: derive(({ executionId }: LogLine) => requireKey(executionId)),
    at: row.at,
    level: row.level,
    text: row.text,
  }),
);

const EXECUTION = prepare<{ id: string }>(({ id }) =>
  builder.selectFrom("execution").select(COLUMNS).where("key", "=", KEY).where("id", "=", id),
);

/** @throws StoreError where the tables do not have all of the ledger yet, and not its ending */
export async function findExecution(store: Store, id: string): Promise<ExecutionRow | undefined> {
  const isSettled = await store.settled();
  const row = await store.find<ExecutionRow>(EXECUTION({ id }));
  if (isSettled || (row?.ended_at ?? null) !== null) return row;
  throw newUnavailable(UNSETTLED);
}

const UNSETTLED = "What was recorded cannot be read yet";

const ANCESTORS = prepare<{ id: string }>(({ id }) =>
  builder
    .withRecursive("line", (db) =>
      db
        .selectFrom("execution")
        .select("parent_key")
        .where("key", "=", KEY)
        .where("id", "=", id)
        .where("parent_key", "is not", null)
        .unionAll(
          db
            .selectFrom("execution")
            .innerJoin("line", "line.parent_key", "execution.key")
            .select("execution.parent_key")
            .where("execution.parent_key", "is not", null),
        ),
    )
    .selectFrom("line")
    .select((eb) => eb.fn.countAll<number>().as("count")),
);

/**
 * How many executions led to this one: its parent, that one's parent, as far as they are kept.
 *
 * @throws StoreError where none is found, and the tables do not have all of the ledger yet
 */
export async function countAncestors(store: Store, id: string): Promise<number> {
  const isSettled = await store.settled();
  const { count = 0 } = (await store.find<{ count: number }>(ANCESTORS({ id }))) ?? {};
  if (count === 0 && !isSettled) throw newUnavailable(UNSETTLED);
  return count;
}

const selectInput = (id: string) =>
  builder
    .selectFrom("execution")
    .innerJoin("execution_input as input", "input.execution_key", "execution.key")
    .select(["input_value", "raw_body_at", "raw_body", "target"])
    .where("execution.key", "=", KEY)
    .where("execution.id", "=", id);

const INPUT = prepare<{ id: string }>(({ id }) => selectInput(id));

const PAYLOAD = prepare<{ id: string }>(({ id }) =>
  selectInput(id)
    .leftJoin("execution_output as output", "output.execution_key", "execution.key")
    .select(["output_value", "response"]),
);

/** Of an execution that was found before. */
export async function findPayload(store: Store, id: string): Promise<PayloadRow | undefined> {
  await store.settled();
  return store.find(PAYLOAD({ id }));
}

/** @throws StoreError where the tables do not have all of the ledger yet, and this neither */
export async function findInput(store: Store, id: string): Promise<PayloadInput | undefined> {
  const isSettled = await store.settled();
  const row = await store.find<PayloadInput>(INPUT({ id }));
  if (row === undefined && !isSettled) throw newUnavailable(UNSETTLED);
  return row;
}

/** Those of them that are there. */
export function findExecutions(store: Store, ids: readonly string[]): Promise<ExecutionRow[]> {
  return store.shared === null ? findEach(store, ids) : findTogether(store, ids);
}

/** As findExecutions. @throws as findExecution, for any of them */
export async function findSettled(store: Store, ids: readonly string[]): Promise<ExecutionRow[]> {
  const isSettled = await store.settled();
  const rows = await findExecutions(store, ids);
  const ended = rows.filter(({ ended_at }) => ended_at !== null);
  if (isSettled || ended.length === ids.length) return rows;
  throw newUnavailable(UNSETTLED);
}

/** Rows of a file are read here: to build a statement with all the ids takes longer. */
async function findEach(store: Store, ids: readonly string[]): Promise<ExecutionRow[]> {
  const found = await Promise.all(ids.map((id) => store.find<ExecutionRow>(EXECUTION({ id }))));
  return found.filter((row) => row !== undefined);
}

/** A server is asked once. */
function findTogether(store: Store, ids: readonly string[]): Promise<ExecutionRow[]> {
  const keys = ids.flatMap((id) => toKey(id) ?? []);
  return store.rows
    .selectFrom("execution")
    .select(COLUMNS)
    .where("key", "in", keys)
    .where("id", "in", ids)
    .execute();
}

/** Name of the flow that was started last; null where none was. */
export async function findLatestFlow(store: Store): Promise<string | null> {
  const query = store.rows.selectFrom("execution").select("flow").orderBy("key", "desc").limit(1);
  return (await query.executeTakeFirst())?.flow ?? null;
}

/** Status of the newest executions that began from a time on, by their ids. */
export async function newestStatuses(
  store: Store,
  from: number,
  limit: number,
): Promise<Map<string, string>> {
  const rows = await store.rows
    .selectFrom("execution")
    .select(["id", "status"])
    .where("key", ">=", firstKeyOf(from))
    .orderBy("key", "desc")
    .limit(limit)
    .execute();
  return new Map(rows.map(({ id, status }) => [id, status]));
}

/** Status of the newest executions that have not ended, by their ids. */
export async function unendedStatuses(store: Store, limit: number): Promise<Map<string, string>> {
  const rows = await store.rows
    .selectFrom("execution")
    .select(["id", "status"])
    .where("status", "in", UNENDED)
    .where("ended_at", "is", null)
    .orderBy("key", "desc")
    .limit(limit)
    .execute();
  return new Map(rows.map(({ id, status }) => [id, status]));
}
