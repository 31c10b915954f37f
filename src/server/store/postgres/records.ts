import type { Client } from "pg";
import { requireKey } from "../execution-key.ts";
import { gatherRecords, type Begun, type Later } from "../gathered-records.ts";
import { listReplaced, type LedgerEntry } from "../ledger-record.ts";
import {
  toBeginBatch,
  toClaimBatch,
  toEndBatch,
  toLogBatch,
  toMoveBatch,
  type Batch,
} from "./batches.ts";
import { transact } from "./connection.ts";
import { isLost, toUnitError } from "./error.ts";
import type { RecordErrors } from "./thread-protocol.ts";

/**
 * Writes records, together where that is possible. Each may be written once more after its
 * answer was lost: what is there stays as it is.
 *
 * @returns why some were not written
 * @throws {Error} where the connection was lost: what was written is not known
 */
export async function writeRecords(
  client: Client,
  entries: readonly LedgerEntry[],
): Promise<RecordErrors> {
  try {
    await writeTogether(client, entries);
    return [];
  } catch (error) {
    if (isLost(error)) throw error;
    const parts = toParts(entries);
    if (parts.length === 1) return entries.map((_, at) => [at, toUnitError(error)] as const);
    return writeApart(client, entries, parts);
  }
}

async function writeApart(
  client: Client,
  entries: readonly LedgerEntry[],
  parts: readonly number[][],
): Promise<RecordErrors> {
  const errors: RecordErrors[number][] = [];
  for (const part of parts)
    try {
      await writeTogether(
        client,
        part.map((at) => entries[at] as LedgerEntry),
      );
    } catch (error) {
      if (isLost(error)) throw error;
      for (const at of part) errors.push([at, toUnitError(error)]);
    }
  return errors;
}

/** Places of records that are written together or not at all: those of one execution. */
function toParts(entries: readonly LedgerEntry[]): number[][] {
  const parts = new Map<string, number[]>();
  entries.forEach(({ record }, at) => {
    const id = idOf(record);
    const part = parts.get(id);
    if (part === undefined) parts.set(id, [at]);
    else part.push(at);
  });
  return [...parts.values()];
}

function idOf(record: LedgerEntry["record"]): string {
  if (record.kind === "begin") return record.row.id;
  return "ids" in record ? (record.ids[0] ?? "") : record.id;
}

async function writeTogether(client: Client, entries: readonly LedgerEntry[]): Promise<void> {
  const whole = entries.flatMap((entry) =>
    entry.record.kind === "begin" ? [entry, ...listReplaced(entry.record)] : entry,
  );
  const { begun, later } = gatherRecords(whole);
  const claim = toClaimBatch(begun);
  const rest = [...(claim === null ? [] : [claim]), ...toBatches(later)];
  const count = rest.length + (begun.length > 0 ? 1 : 0);
  const write = async (): Promise<void> => {
    if (begun.length > 0) await begin(client, begun);
    for (const batch of rest) await run(client, batch);
  };
  // One statement is a transaction by itself.
  await (count === 1 ? write() : transact(client, write));
}

async function run(client: Client, { name, text, values }: Batch): Promise<{ key: number }[]> {
  const { rows } = await client.query<{ key: number }>({ name, text, values: [...values] });
  return rows;
}

/** @throws {Error} where another execution has the key of one */
async function begin(client: Client, begun: readonly Begun[]): Promise<void> {
  const inserted = await run(client, toBeginBatch(begun));
  if (inserted.length === begun.length) return;
  const keys = new Set(inserted.map(({ key }) => key));
  const ids = begun.map(({ row }) => row.id).filter((id) => !keys.has(requireKey(id)));
  const { rows } = await client.query<{ id: string }>({
    text: "select id from execution where key = any($1::bigint[]) and id = any($2::text[])",
    values: [ids.map(requireKey), ids],
  });
  if (rows.length === ids.length) return;
  throw Object.assign(new Error("Another execution has this key"), { code: "23505" });
}

/** Neighbours of one kind are one statement, which has each execution once; their order stays. */
function toBatches(later: readonly Later[]): Batch[] {
  const groups: Later[][] = [];
  for (const one of later) {
    const group = groups.at(-1);
    if (group !== undefined && fitsInto(group, one)) group.push(one);
    else groups.push([one]);
  }
  return groups.map(toBatchOf);
}

function fitsInto(group: readonly Later[], one: Later): boolean {
  if (group[0]?.kind !== one.kind) return false;
  return one.kind !== "move" || group.every((other) => !("id" in other) || other.id !== one.id);
}

function toBatchOf(later: readonly Later[]): Batch {
  const [first] = later;
  if (first?.kind === "end")
    return toEndBatch(later.flatMap((one) => (one.kind === "end" ? one.ended : [])));
  if (first?.kind === "log")
    return toLogBatch(later.flatMap((one) => (one.kind === "log" ? one.record : [])));
  return toMoveBatch(later.flatMap((one) => (one.kind === "move" ? one : [])));
}
