import type { Client } from "pg";
import { ANSWER_MS, sendingMs, sizeOf, type TimedQuery } from "./connection.ts";
import { toListBytes, type ElementType } from "./list-bytes.ts";

/** A statement that writes many rows at once, from one list for each column. */
export interface Batch {
  /** For the server, which plans it once. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Executions that it changes, if they are this node's; empty where that is not asked. */
  readonly ids: readonly string[];
}

export type Types = Readonly<Record<string, ElementType>>;

export async function runBatch<Row = unknown>(client: Client, batch: Batch): Promise<Row[]> {
  const { name, text, values } = batch;
  const query_timeout = ANSWER_MS + sendingMs(values.map(sizeOf));
  const query: TimedQuery = { name, text, values: [...values], query_timeout };
  const { rows } = await client.query(query);
  return rows as Row[];
}

/** A row with these columns, from a list for each of them. */
export function unnest(types: Types, from = 1): string {
  const names = Object.keys(types);
  const lists = Object.values(types).map((type, at) => `$${from + at}::${type}[]`);
  return `unnest(${lists.join(", ")}) with ordinality as given (${names.join(", ")}, place)`;
}

export function columns(types: Types): string {
  return Object.keys(types).join(", ");
}

/** The parameter behind the lists: the node that writes. */
export function nodeAfter(types: Types): string {
  return `$${Object.keys(types).length + 1}::text`;
}

/** Whether the node that writes still is one: what others may have given up changes nothing. */
export function isNode(node: string): string {
  return `exists (select from node where node.id = ${node})`;
}

export type Cells = Readonly<Record<string, unknown>>;

export function toBatch(name: string, text: string, types: Types, rows: readonly Cells[]): Batch {
  const values = Object.entries(types).map(([column, type]) =>
    toListBytes(
      type,
      rows.map((row) => row[column] ?? null),
    ),
  );
  return { name, text, values, ids: [] };
}

/** @param node that writes it */
export function toNodeBatch(
  [name, text, types]: readonly [name: string, text: string, types: Types],
  node: string,
  rows: readonly (Cells & { readonly id: string })[],
): Batch {
  const { values } = toBatch(name, text, types, rows);
  return { name, text, values: [...values, node], ids: rows.map(({ id }) => id) };
}
