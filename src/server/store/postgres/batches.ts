import type { EndedRow } from "../executions.ts";
import { requireKey, toKey } from "../execution-key.ts";
import type { Move } from "../gathered-records.ts";
import type { LogRecord } from "../ledger-record.ts";
import { columns, isNode, nodeAfter, unnest, unnestInOrder, type Batch } from "./batch.ts";
import { begun } from "./begin-batch.ts";
import type { Cells, RowType } from "./row-bytes.ts";

/** The statements of what becomes of executions: that they end, are started or wait again, and log. */

export const END_ROW: RowType = {
  name: "end_row",
  columns: {
    key: "bigint",
    status: "text",
    status_message: "text",
    ended_at: "bigint",
    output_value: "text",
    response: "text",
  },
};

export const MOVE_ROW: RowType = {
  name: "move_row",
  columns: { key: "bigint", status: "text", started_at: "bigint", undone: "bigint" },
};

export const LOG_ROW: RowType = {
  name: "log_row",
  columns: { execution_key: "bigint", at: "bigint", level: "text", text: "text" },
};

/** The node that writes, behind the one list. */
const NODE = nodeAfter(1);

/** An ended status never changes, and what was answered neither. */
function ended(list: number, node: string): string {
  return `ended as (update execution set status = given.status,
      status_message = given.status_message, ended_at = given.ended_at
    from ${unnest(END_ROW, list)}
    where execution.key = given.key and execution.status in ('PENDING', 'RUNNING')
      and execution.node_id = ${node}
    returning execution.key, given.output_value, given.response),
  ended_output as (insert into execution_output (execution_key, output_value, response)
    select key, output_value, response from ended
    where output_value is not null or response is not null)`;
}

/** Answers the keys that ended. */
const END = `with ${ended(1, NODE)} select key from ended`;

/** What begins, then what ends: the node stands behind both. */
const toBeginAndEnd = (mayBeThere: boolean) =>
  `with ${begun(nodeAfter(2), mayBeThere)}, ${ended(2, nodeAfter(2))}
  select key from begun union all select key from ended`;

const [BEGIN_AND_END, BEGIN_AND_END_AGAIN] = [toBeginAndEnd(false), toBeginAndEnd(true)];

/**
 * Answers the keys that moved. One that runs in the tables and waits here is started all the same:
 * an answer to its last start was lost, or that it waits again could not be written. A statement
 * that arrives late changes nothing: what was started after it stays started.
 */
const MOVE = `update execution set status = given.status, started_at = given.started_at
  from ${unnest(MOVE_ROW)} where execution.key = given.key
    and case when given.status = 'PENDING'
      then execution.status = 'RUNNING' and execution.started_at = given.undone
      else execution.status = 'PENDING'
        or execution.status = 'RUNNING' and execution.started_at < given.started_at end
    and execution.node_id = ${NODE} and ${isNode(NODE)}
  returning execution.key`;

/** Those that a try whose answer was lost has changed already: they are as they were to be. */
export const CHANGED_BEFORE: Readonly<Record<string, string>> = {
  end: `select execution.key from ${unnest(END_ROW)} join execution using (key)
    where execution.node_id = ${NODE} and execution.status = given.status
      and execution.ended_at = given.ended_at`,
  move: `select execution.key from ${unnest(MOVE_ROW)} join execution using (key)
    where execution.node_id = ${NODE} and execution.status = given.status
      and execution.started_at is not distinct from given.started_at`,
};

const LOG = `insert into execution_log (${columns(LOG_ROW)})
  select ${columns(LOG_ROW)} from ${unnestInOrder(LOG_ROW)} order by place`;

/**
 * Without those of executions whose last line is the last one in the tables already: all lines of an
 * execution were written together. The sum keeps the server from reading all logs, newest first.
 */
const LOG_AGAIN = `with given as materialized (select * from ${unnestInOrder(LOG_ROW)}),
  last as (select distinct on (execution_key) * from given order by execution_key, place desc),
  there as (select execution_key from last where (at, level, text) = (select at, level, text
    from execution_log as log where log.execution_key = last.execution_key
    order by seq + 0 desc limit 1))
  insert into execution_log (${columns(LOG_ROW)})
  select ${columns(LOG_ROW)} from given
  where execution_key not in (select execution_key from there) order by place`;

/** Of one execution the first ending holds. */
export function toEndBatch(ended: readonly EndedRow[], node: string): Batch {
  const rows = new Map<string, Cells & { readonly id: string }>();
  for (const row of ended) if (!rows.has(row.id)) rows.set(row.id, { ...row, key: toKey(row.id) });
  const lists = [{ type: END_ROW, rows: [...rows.values()] }];
  return { name: "end", text: END, lists, values: [node], ids: [...rows.keys()] };
}

/** Both in one statement: of the executions that end, none begins. */
export function joinBatches(begins: Batch, ends: Batch, mayBeThere: boolean): Batch {
  const [name, text] = mayBeThere
    ? ["begin-and-end-again", BEGIN_AND_END_AGAIN]
    : ["begin-and-end", BEGIN_AND_END];
  const lists = [...begins.lists, ...ends.lists];
  return { name, text, lists, values: begins.values, ids: [...begins.ids, ...ends.ids] };
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
  const ids = moves.filter(({ at }) => at !== null).map(({ id }) => id);
  return { name: "move", text: MOVE, lists: [{ type: MOVE_ROW, rows }], values: [node], ids };
}

/** @param isAgain they may be in the tables: nobody knows */
export function toLogBatch(records: readonly LogRecord[], isAgain: boolean): Batch {
  const rows = records.flatMap(({ id, lines }) =>
    lines.map((line) => ({ ...line, execution_key: requireKey(id) })),
  );
  const [name, text] = isAgain ? ["log-again", LOG_AGAIN] : ["log", LOG];
  return { name, text, lists: [{ type: LOG_ROW, rows }], values: [], ids: [] };
}
