import { COLUMNS } from "../executions.ts";
import { requireKey, toKey } from "../execution-key.ts";
import type { Begun } from "../gathered-records.ts";
import { isNode, nodeAfter, unnest, type Batch } from "./batch.ts";
import type { RowType, Types } from "./row-bytes.ts";

/** The statement that executions begin with: their rows, inputs, and what has ended already. */

const EXECUTION: Types = Object.fromEntries(
  ["key", "parent_key", ...COLUMNS].map((name) => [
    name,
    /^is_|_at$|key$/.test(name) ? "bigint" : "text",
  ]),
);

export const BEGIN_ROW: RowType = {
  name: "begin_row",
  columns: {
    ...EXECUTION,
    input_value: "text",
    raw_body_at: "bigint",
    raw_body: "bytea",
    target: "text",
    output_value: "text",
    response: "text",
    month: "text",
    part: "bigint",
  },
};

const INSERTED = Object.keys(EXECUTION).join(", ");

/**
 * Where the node is none any more, nothing is inserted.
 *
 * @param mayBeThere those that are there already were inserted by a try whose answer was lost, or are
 *   another's; else what is there is an error
 */
export function begun(node: string, mayBeThere: boolean): string {
  const rows = mayBeThere ? "given join begun using (key)" : "given";
  return `given as materialized (select * from ${unnest(BEGIN_ROW)} where ${isNode(node)}),
  begun as (insert into execution (${INSERTED}, node_id) select ${INSERTED}, ${node} from given
    ${mayBeThere ? "on conflict (key) do nothing" : ""} returning key),
  input as (insert into execution_input (execution_key, input_value, raw_body_at, raw_body, target)
    select key, input_value, raw_body_at, raw_body, target from ${rows}),
  output as (insert into execution_output (execution_key, output_value, response)
    select key, output_value, response from ${rows}
    where output_value is not null or response is not null),
  usage as (insert into connection_usage (month, part, used)
    select month, part, count(*) from ${rows} where month is not null
    group by month, part on conflict (month, part) do update set used = connection_usage.used + excluded.used)`;
}

/** Answers the keys that were inserted. */
const toBegin = (mayBeThere: boolean) =>
  `with ${begun(nodeAfter(1), mayBeThere)} select key from begun`;

const [BEGIN, BEGIN_AGAIN] = [toBegin(false), toBegin(true)];

/**
 * @param part of its month that connections are counted in
 * @param mayBeThere some may be there: the answer to an earlier try was lost
 */
export function toBeginBatch(
  begins: readonly Begun[],
  node: string,
  part: number,
  mayBeThere: boolean,
): Batch {
  const rows = begins.map(({ row, begin, input_value, output }) => ({
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
  const ids = rows.map(({ id }) => id);
  const [name, text] = mayBeThere ? ["begin-again", BEGIN_AGAIN] : ["begin", BEGIN];
  return { name, text, lists: [{ type: BEGIN_ROW, rows }], values: [node], ids };
}
