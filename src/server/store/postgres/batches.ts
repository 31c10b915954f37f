import type { Client } from "pg";
import { COLUMNS, type EndedRow } from "../executions.ts";
import { requireKey, toKey } from "../execution-key.ts";
import type { Begun, Move } from "../gathered-records.ts";
import type { BeginRecord, LogRecord } from "../ledger-record.ts";
import { now } from "../../../shared/clock.ts";
import { toValue } from "./connection.ts";

/** The statements that write many rows at once, each from one list for each column. */

export interface Batch {
  /** For the server, which plans it once. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Executions that it changes, if they are this node's; empty where that is not asked. */
  readonly ids: readonly string[];
}

type Types = Readonly<Record<string, "bigint" | "text" | "bytea" | "json">>;

const ROW_TYPES: Types = Object.fromEntries(
  ["key", "parent_key", ...COLUMNS].map((name) => [
    name,
    /^is_|_at$|key$/.test(name) ? "bigint" : "text",
  ]),
);

const BEGIN_TYPES: Types = {
  ...ROW_TYPES,
  input_value: "text",
  raw_body_at: "bigint",
  raw_body: "bytea",
  target: "text",
  output_value: "text",
  response: "text",
  month: "text",
  part: "bigint",
};

/**
 * Of most executions these are null. They come as one object, or none: each list costs the server
 * about 10 us, however short it is.
 */
const RARE: readonly string[] = [
  "parent_key",
  "status_message",
  "project_id",
  "role_id",
  "acts_for",
  "created_by",
  "parent_id",
  "replay_of",
  "verified",
  "ended_at",
  "output_value",
  "response",
];

const COMMON_TYPES: Types = Object.fromEntries(
  Object.entries(BEGIN_TYPES).filter(([name]) => !RARE.includes(name)),
);

const BEGIN_LISTS: Types = { ...COMMON_TYPES, rare: "json" };

const CLAIM_TYPES: Types = {
  hash: "text",
  execution_key: "bigint",
  fingerprint: "text",
  expires_at: "bigint",
};

const CLAIMED_TYPES: Types = { ...CLAIM_TYPES, replaced: "bigint", at: "bigint" };

const END_TYPES: Types = {
  key: "bigint",
  status: "text",
  status_message: "text",
  ended_at: "bigint",
  output_value: "text",
  response: "text",
};

const MOVE_TYPES: Types = {
  key: "bigint",
  status: "text",
  started_at: "bigint",
  undone: "bigint",
};
const LOG_TYPES: Types = { execution_key: "bigint", at: "bigint", level: "text", text: "text" };

export async function runBatch<Row = unknown>(
  client: Client,
  { name, text, values }: Batch,
): Promise<Row[]> {
  const { rows } = await client.query({ name, text, values: [...values] });
  return rows as Row[];
}

/** A row with these columns, from a list for each of them. */
function unnest(types: Types, from = 1): string {
  const names = Object.keys(types);
  const lists = Object.values(types).map((type, at) => `$${from + at}::${type}[]`);
  return `unnest(${lists.join(", ")}) with ordinality as given (${names.join(", ")}, place)`;
}

/** The columns that come together. */
function fromRare(): string {
  return RARE.map((name) => `(rare ->> '${name}')::${BEGIN_TYPES[name]} as ${name}`).join(", ");
}

function columns(types: Types): string {
  return Object.keys(types).join(", ");
}

/** The parameter behind the lists: the node that writes. */
function nodeAfter(types: Types): string {
  return `$${Object.keys(types).length + 1}::text`;
}

/** Whether the node that writes still is one: what others may have given up changes nothing. */
function isNode(node: string): string {
  return `exists (select from node where node.id = ${node})`;
}

/**
 * Those that are there already were inserted by a try whose answer was lost, or are another's.
 * Where the node is none any more, nothing is inserted.
 */
const BEGUN = `given as materialized (select ${columns(COMMON_TYPES)}, ${fromRare()}, place
    from ${unnest(BEGIN_LISTS)}),
  begun as (insert into execution (${columns(ROW_TYPES)}, node_id)
    select ${columns(ROW_TYPES)}, ${nodeAfter(BEGIN_LISTS)} from given
    where ${isNode(nodeAfter(BEGIN_LISTS))}
    order by place on conflict (key) do nothing returning key),
  input as (insert into execution_input (execution_key, input_value, raw_body_at, raw_body, target)
    select key, input_value, raw_body_at, raw_body, target from given join begun using (key)),
  output as (insert into execution_output (execution_key, output_value, response)
    select key, output_value, response from given join begun using (key)
    where output_value is not null or response is not null),
  usage as (insert into connection_usage (month, part, used)
    select month, part, count(*) from given join begun using (key) where month is not null
    group by month, part on conflict (month, part) do update set used = connection_usage.used + excluded.used)`;

/** Answers the keys that were inserted. */
const BEGIN = `with ${BEGUN} select key from begun`;

/**
 * In the place of those that have expired or that may be replaced. Answers what was claimed: the
 * rest is another execution's, perhaps of another node. In one order, so that no two nodes wait for
 * each other.
 */
const CLAIM = `with given as materialized (select * from ${unnest(CLAIMED_TYPES)})
  insert into execution_claim (${columns(CLAIM_TYPES)})
  select ${columns(CLAIM_TYPES)} from given order by hash
  on conflict (hash) do update set execution_key = excluded.execution_key,
    fingerprint = excluded.fingerprint, expires_at = excluded.expires_at
  where execution_claim.execution_key = excluded.execution_key
    or exists (select from given where given.hash = execution_claim.hash
      and (execution_claim.expires_at <= given.at
        or execution_claim.execution_key = given.replaced))
  returning hash, execution_key as key`;

/** An ended status never changes, and what was answered neither. */
function ended(node: string, from = 1): string {
  return `ended as (update execution set status = given.status,
      status_message = given.status_message, ended_at = given.ended_at
    from ${unnest(END_TYPES, from)}
    where execution.key = given.key and execution.status in ('PENDING', 'RUNNING')
      and execution.node_id = ${node}
    returning execution.key, given.output_value, given.response),
  ended_output as (insert into execution_output (execution_key, output_value, response)
    select key, output_value, response from ended
    where output_value is not null or response is not null)`;
}

/** Answers the keys that ended. */
const END = `with ${ended(nodeAfter(END_TYPES))} select key from ended`;

/** What begins, then what ends: the node stands between their lists. */
const BEGIN_AND_END = `with ${BEGUN},
  ${ended(nodeAfter(BEGIN_LISTS), Object.keys(BEGIN_LISTS).length + 2)}
  select key from begun union all select key from ended`;

/**
 * Answers the keys that moved. One that runs in the tables and waits here is started all the same:
 * an answer to its last start was lost, or that it waits again could not be written. A statement
 * that arrives late changes nothing: what was started after it stays started.
 */
const MOVE = `update execution set status = given.status, started_at = given.started_at
  from ${unnest(MOVE_TYPES)} where execution.key = given.key
    and case when given.status = 'PENDING'
      then execution.status = 'RUNNING' and execution.started_at = given.undone
      else execution.status = 'PENDING'
        or execution.status = 'RUNNING' and execution.started_at < given.started_at end
    and execution.node_id = ${nodeAfter(MOVE_TYPES)} and ${isNode(nodeAfter(MOVE_TYPES))}
  returning execution.key`;

/** Those that a try whose answer was lost has changed already: they are as they were to be. */
export const CHANGED_BEFORE: Readonly<Record<string, string>> = {
  end: `select execution.key from ${unnest(END_TYPES)} join execution using (key)
    where execution.node_id = ${nodeAfter(END_TYPES)} and execution.status = given.status
      and execution.ended_at = given.ended_at`,
  move: `select execution.key from ${unnest(MOVE_TYPES)} join execution using (key)
    where execution.node_id = ${nodeAfter(MOVE_TYPES)} and execution.status = given.status
      and execution.started_at is not distinct from given.started_at`,
};

const LOG = `insert into execution_log (${columns(LOG_TYPES)})
  select ${columns(LOG_TYPES)} from ${unnest(LOG_TYPES)} order by place`;

type Cells = Readonly<Record<string, unknown>>;

function toBatch(name: string, text: string, types: Types, rows: readonly Cells[]): Batch {
  const values = Object.keys(types).map((column) =>
    rows.map((row) => toValue(row[column] ?? null)),
  );
  return { name, text, values, ids: [] };
}

/** @param node that writes it */
function toNodeBatch(
  [name, text, types]: readonly [name: string, text: string, types: Types],
  node: string,
  rows: readonly (Cells & { readonly id: string })[],
): Batch {
  const { values } = toBatch(name, text, types, rows);
  return { name, text, values: [...values, node], ids: rows.map(({ id }) => id) };
}

/** @param part of its month that connections are counted in */
export function toBeginBatch(begun: readonly Begun[], node: string, part: number): Batch {
  const rows = begun.map(({ row, begin, input_value, output }) => ({
    ...row,
    key: requireKey(row.id),
    parent_key: row.parent_id === null ? null : toKey(row.parent_id),
    ...begin.input,
    input_value,
    raw_body: begin.input.raw_body === null ? null : Buffer.from(begin.input.raw_body),
    output_value: output?.output_value ?? null,
    response: output?.response ?? null,
    month: begin.month,
    part,
  }));
  const given = rows.map((row) => ({ ...row, rare: toRare(row) }));
  return toNodeBatch(["begin", BEGIN, BEGIN_LISTS], node, given);
}

function toRare(row: Cells): string | null {
  const set = RARE.filter((name) => (row[name] ?? null) !== null);
  if (set.length === 0) return null;
  return JSON.stringify(Object.fromEntries(set.map((name) => [name, toJsonValue(row[name])])));
}

/** A list, which is UTF-8, has U+FFFD for half of a character; in JSON it would be an error. */
function toJsonValue(value: unknown): unknown {
  const own = toValue(value);
  return typeof own === "string" ? own.toWellFormed() : own;
}

/** Of one hash the first: a statement writes each row once. */
export function toClaimBatch(begins: readonly BeginRecord[]): Batch | null {
  const rows = new Map<string, Cells>();
  const at = now();
  for (const { row, claims = [] } of begins)
    for (const { replaces, ...claim } of claims)
      if (!rows.has(claim.hash))
        rows.set(claim.hash, {
          ...claim,
          execution_key: requireKey(row.id),
          replaced: replaces === undefined ? null : toKey(replaces),
          at,
        });
  return rows.size === 0 ? null : toBatch("claim", CLAIM, CLAIMED_TYPES, [...rows.values()]);
}

/** Takes back the claims of executions that have not got all of theirs. */
export function toUnclaimBatch(begins: readonly BeginRecord[]): Batch {
  const keys = begins.map(({ row }) => requireKey(row.id));
  const text = "delete from execution_claim where execution_key = any($1::bigint[])";
  return { name: "unclaim", text, values: [keys], ids: [] };
}

/** Of one execution the first ending holds. */
export function toEndBatch(ended: readonly EndedRow[], node: string): Batch {
  const rows = new Map<string, Cells & { readonly id: string }>();
  for (const row of ended) if (!rows.has(row.id)) rows.set(row.id, { ...row, key: toKey(row.id) });
  return toNodeBatch(["end", END, END_TYPES], node, [...rows.values()]);
}

/** Both in one statement: of the executions that end, none begins. */
export function joinBatches(begins: Batch, ends: Batch): Batch {
  const values = [...begins.values, ...ends.values.slice(0, -1)];
  const ids = [...begins.ids, ...ends.ids];
  return { name: "begin-and-end", text: BEGIN_AND_END, values, ids };
}

/** What is to wait again, and has been started since, waits no more: that concerns nobody. */
export function toMoveBatch(moves: readonly Move[], node: string): Batch {
  const rows = moves.map(({ id, at, undone }) => ({
    id,
    key: toKey(id),
    status: at === null ? "PENDING" : "RUNNING",
    started_at: at,
    undone,
  }));
  const batch = toNodeBatch(["move", MOVE, MOVE_TYPES], node, rows);
  return { ...batch, ids: moves.filter(({ at }) => at !== null).map(({ id }) => id) };
}

export function toLogBatch(records: readonly LogRecord[]): Batch {
  const rows = records.flatMap(({ id, lines }) =>
    lines.map((line) => ({ ...line, execution_key: requireKey(id) })),
  );
  return toBatch("log", LOG, LOG_TYPES, rows);
}
