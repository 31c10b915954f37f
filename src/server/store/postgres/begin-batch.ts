import { COLUMNS } from "../executions.ts";
import { requireKey, toKey } from "../execution-key.ts";
import type { Begun } from "../gathered-records.ts";
import {
  columns,
  isNode,
  nodeAfter,
  toNodeBatch,
  unnest,
  type Batch,
  type Cells,
  type Types,
} from "./batch.ts";
import { toValue } from "./connection.ts";

/** The statement that executions begin with: their rows, inputs, and what has ended already. */

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

export const BEGIN_LISTS: Types = { ...COMMON_TYPES, rare: "json" };

/** The columns that come together. */
function fromRare(): string {
  return RARE.map((name) => `(rare ->> '${name}')::${BEGIN_TYPES[name]} as ${name}`).join(", ");
}

/**
 * Those that are there already were inserted by a try whose answer was lost, or are another's.
 * Where the node is none any more, nothing is inserted.
 */
export const BEGUN = `given as materialized (select ${columns(COMMON_TYPES)}, ${fromRare()}, place
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
