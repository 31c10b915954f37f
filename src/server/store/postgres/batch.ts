import type { Client } from "pg";
import { ANSWER_MS, sendingMs, sizeOf, type TimedQuery } from "./connection.ts";
import { toRowBytes, type RowList, type RowType } from "./row-bytes.ts";

/** A statement that writes many rows at once. */
export interface Batch {
  /** For the server, which plans it once. */
  readonly name: string;
  readonly text: string;
  /** The first parameters. */
  readonly lists: readonly RowList[];
  /** Those that follow. */
  readonly values: readonly unknown[];
  /** Executions that it changes, if they are this node's; empty where that is not asked. */
  readonly ids: readonly string[];
}

export async function runBatch<Row = unknown>(client: Client, batch: Batch): Promise<Row[]> {
  const { name, text } = batch;
  const oids = await oidsOf(client);
  const lists = batch.lists.map((list) => toRowBytes(list, oidOf(oids, list.type)));
  const values = [...lists, ...batch.values];
  const query_timeout = ANSWER_MS + sendingMs(values.map(sizeOf));
  const query: TimedQuery = { name, text, values, query_timeout };
  const { rows } = await client.query(query);
  return rows as Row[];
}

/** Object ids of the rows' types: each database has its own, and a connection knows its database. */
const known = new WeakMap<Client, ReadonlyMap<string, number>>();

/** As the statements find them. */
const ROW_TYPES = `select typname as name, oid from pg_type
  where typtype = 'c' and typname like '%\\_row' and pg_type_is_visible(oid)`;

async function oidsOf(client: Client): Promise<ReadonlyMap<string, number>> {
  const own = known.get(client);
  if (own !== undefined) return own;
  const { rows } = await client.query<{ name: string; oid: number }>(ROW_TYPES);
  const oids = new Map(rows.map(({ name, oid }) => [name, oid]));
  known.set(client, oids);
  return oids;
}

/** @throws {Error} where somebody has taken it away */
function oidOf(oids: ReadonlyMap<string, number>, { name }: RowType): number {
  const oid = oids.get(name);
  if (oid !== undefined) return oid;
  throw Object.assign(new Error(`The database has no type "${name}"`), { code: "42704" });
}

/** @param at which parameter the list is */
export function unnest({ name }: RowType, at = 1): string {
  return `unnest($${at}::${name}[]) as given`;
}

/** With the place of each row, where their order matters. */
export function unnestInOrder(type: RowType): string {
  return `unnest($1::${type.name}[]) with ordinality as given (${columns(type)}, place)`;
}

export function columns(type: Pick<RowType, "columns">): string {
  return Object.keys(type.columns).join(", ");
}

/** The parameter behind the lists: the node that writes. */
export function nodeAfter(lists: number): string {
  return `$${lists + 1}::text`;
}

/** Whether the node that writes still is one: what others may have given up changes nothing. */
export function isNode(node: string): string {
  return `exists (select from node where node.id = ${node})`;
}
