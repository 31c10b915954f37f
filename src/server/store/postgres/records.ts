import type { Client } from "pg";
import { requireKey } from "../execution-key.ts";
import { gatherRecords, type Begun, type Later } from "../gathered-records.ts";
import { lengthOf, listReplaced, type LedgerEntry } from "../ledger-record.ts";
import { runBatch, type Batch } from "./batch.ts";
import { CHANGED_BEFORE, joinBatches, toEndBatch, toLogBatch, toMoveBatch } from "./batches.ts";
import { toBeginBatch } from "./begin-batch.ts";
import { isConditional, leaveOut, refuseBegins, toErrors, type Counting } from "./begins.ts";
import { isLong, sendingMs, toLimits, transact } from "./connection.ts";
import { isLost, isOutOfTime, toUnitError } from "./error.ts";
import { isLimited, limitEntries, replaceWaiting } from "./limits.ts";
import type { Recorded } from "./thread-protocol.ts";

/** Who writes records. */
export interface Recorder {
  /** Id of the node. */
  readonly node: string;
  readonly counting: Counting;
  /** Whether the answer to an earlier try of the same records was lost. */
  readonly isAgain: boolean;
}

/** What could not be written together is written apart: the key of one that begins may be taken. */
interface Writer extends Recorder {
  readonly isApart: boolean;
}

/**
 * Writes records, together where that is possible. Each may be written once more after its
 * answer was lost: what is there stays as it is.
 *
 * @throws {Error} where the connection was lost: what was written is not known
 */
export async function writeRecords(
  client: Client,
  recorder: Recorder,
  entries: readonly LedgerEntry[],
): Promise<Recorded> {
  try {
    return await writeTogether(client, { ...recorder, isApart: false }, entries);
  } catch (error) {
    if (isOfAll(error, entries)) throw error;
    const apart = { ...recorder, isApart: true };
    return writeApart((some) => writeTogether(client, apart, some), entries, toParts(entries));
  }
}

/** Whether all are lines of logs, which are tried again until they are written. */
export function isLines(entries: readonly LedgerEntry[]): boolean {
  return entries.every(({ record }) => record.kind === "log");
}

/** Whether no record of these is to blame. */
function isOfAll(error: unknown, entries: readonly LedgerEntry[]): boolean {
  if (isLost(error) || isOutOfTime(error)) return true;
  return isLines(entries) && toUnitError(error).kind === "unavailable";
}

type WriteEntries = (entries: readonly LedgerEntry[]) => Promise<Recorded>;

async function writeApart(
  write: WriteEntries,
  entries: readonly LedgerEntry[],
  parts: readonly number[][],
): Promise<Recorded> {
  const errors: Recorded["errors"][number][] = [];
  const overtaken: string[] = [];
  const heldBack: string[] = [];
  for (const part of parts)
    try {
      const recorded = await write(part.map((at) => entries[at] as LedgerEntry));
      overtaken.push(...recorded.overtaken);
      heldBack.push(...recorded.heldBack);
      for (const [at, error] of recorded.errors) errors.push([part[at] as number, error]);
    } catch (error) {
      if (isOfAll(error, entries)) throw error;
      for (const at of part) errors.push([at, toUnitError(error)]);
    }
  return { errors, overtaken, heldBack };
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

async function writeTogether(
  client: Client,
  recorder: Writer,
  entries: readonly LedgerEntry[],
): Promise<Recorded> {
  const limits = limitsOf(entries);
  if (!isConditional(entries, recorder.counting) && !isLimited(entries)) {
    const { count, write } = prepareWrite(client, recorder, entries);
    // One statement is a transaction by itself.
    const isOne = count === 1 && limits === "";
    const overtaken = await (isOne ? write() : transact(client, write, limits));
    return { errors: [], overtaken, heldBack: [] };
  }
  const act = async (): Promise<Recorded> => {
    const limited = await limitEntries(client, recorder.node, entries);
    const others = await refuseBegins(client, limited.entries, recorder.counting);
    const refused = new Map([...limited.refused, ...others]);
    const begun = leaveOut(limited.entries, others);
    const { write } = prepareWrite(client, recorder, begun);
    const overtaken = await write();
    // One that an earlier try has begun, and that was replaced since, is not the newest any more.
    const gone = new Set(overtaken);
    const newest = begun.filter(({ record }) => !gone.has(idOf(record)));
    await replaceWaiting(client, newest, limited.replacing);
    return {
      errors: toErrors(entries, refused),
      overtaken: overtaken.filter((id) => !refused.has(id)),
      heldBack: limited.heldBack,
    };
  };
  return transact(client, act, limits);
}

/** Most bytes of a unit of a text. */
const MOST_BYTES = 3;

/** Of a transaction that writes so much that sending it takes long, empty for any other. */
function limitsOf(entries: readonly LedgerEntry[]): string {
  const units = entries.reduce((sum, entry) => sum + lengthOf(entry), 0);
  if (!isLong(sendingMs([units * MOST_BYTES]))) return "";
  const sending = sendingMs(entries.map((entry) => lengthOf(entry, Buffer.byteLength)));
  return isLong(sending) ? toLimits(sending) : "";
}

interface Prepared {
  /** Statements. */
  readonly count: number;
  /** @returns executions that were to be changed, and are not this node's any more */
  write(): Promise<string[]>;
}

function prepareWrite(client: Client, recorder: Writer, entries: readonly LedgerEntry[]): Prepared {
  const whole = entries.flatMap((entry) =>
    entry.record.kind === "begin" ? [entry, ...listReplaced(entry.record)] : entry,
  );
  const { begun, later } = gatherRecords(whole);
  const writes = toWrites(begun, toBatches(later, recorder), recorder);
  return {
    count: writes.length,
    async write() {
      const overtaken: string[] = [];
      for (const one of writes) overtaken.push(...(await run(client, one)));
      return overtaken;
    },
  };
}

/** A statement, and what is asked where it did not change all that it was to. */
interface Write {
  readonly batch: Batch;
  /** @returns executions that are not this node's any more, or have ended otherwise */
  check(client: Client, changed: readonly Changed[]): Promise<readonly string[]>;
}

interface Changed {
  readonly key: number;
}

async function run(client: Client, { batch, check }: Write): Promise<readonly string[]> {
  const changed = await runBatch<Changed>(client, batch);
  return changed.length === batch.ids.length ? [] : check(client, changed);
}

/** What begins comes first, with what ends where that is all there is: one statement for both. */
function toWrites(
  begun: readonly Begun[],
  rest: readonly Batch[],
  { node, counting, isAgain, isApart }: Writer,
): Write[] {
  const writes = rest.map((batch) => ({
    batch,
    check: (client: Client, changed: readonly Changed[]) => checkChanged(client, batch, changed),
  }));
  if (begun.length === 0) return writes;
  const mayBeThere = isAgain || isApart;
  const begins = {
    batch: toBeginBatch(begun, node, counting.part, mayBeThere),
    check: (client: Client, inserted: readonly Changed[]) =>
      checkBegun(client, node, begun, inserted),
  };
  const [ends] = writes;
  if (ends?.batch.name !== "end" || writes.length > 1) return [begins, ...writes];
  const check: Write["check"] = async (client, changed) => [
    ...(await begins.check(client, changed)),
    ...(await ends.check(client, changed)),
  ];
  return [{ batch: joinBatches(begins.batch, ends.batch, mayBeThere), check }];
}

interface BegunBefore {
  readonly id: string;
  readonly node_id: string | null;
  readonly ended_at: number | null;
}

/**
 * @returns executions that an earlier try has begun, and that are not this node's any more
 * @throws {Error} where another execution has the key of one, or the node is none any more
 */
async function checkBegun(
  client: Client,
  node: string,
  begun: readonly Begun[],
  inserted: readonly Changed[],
): Promise<readonly string[]> {
  const endedAt = new Map(begun.map(({ row }) => [row.id, row.ended_at]));
  const ids = leaveOutKeys([...endedAt.keys()], inserted);
  if (ids.length === 0) return [];
  const { rows } = await client.query<BegunBefore>({
    text: `select id, node_id, ended_at from execution
      where key = any($1::bigint[]) and id = any($2::text[])`,
    values: [ids.map(requireKey), ids],
  });
  if (rows.length === ids.length)
    return rows
      .filter(({ id, node_id, ended_at }) => node_id !== node || ended_at !== endedAt.get(id))
      .map(({ id }) => id);
  if (ids.length === begun.length) await requireNode(client, node);
  throw Object.assign(new Error("Another execution has this key"), { code: "23505" });
}

/** A node that was given up joins again soon: until then it is as if the store were away. */
async function requireNode(client: Client, node: string): Promise<void> {
  const { rowCount } = await client.query("select from node where id = $1", [node]);
  if (rowCount === 0)
    throw Object.assign(new Error("The node was given up"), { kind: "unavailable", code: "node" });
}

/** @returns executions that it did not change */
async function checkChanged(
  client: Client,
  batch: Batch,
  changed: readonly Changed[],
): Promise<readonly string[]> {
  const missing = leaveOutKeys(batch.ids, changed);
  const before = CHANGED_BEFORE[batch.name];
  if (missing.length === 0 || before === undefined) return [];
  const rows = await runBatch<Changed>(client, {
    ...batch,
    name: `${batch.name}-before`,
    text: before,
  });
  return leaveOutKeys(missing, rows);
}

function leaveOutKeys(ids: readonly string[], rows: readonly Changed[]): readonly string[] {
  if (ids.length === 0) return ids;
  const keys = new Set(rows.map(({ key }) => key));
  return ids.filter((id) => !keys.has(requireKey(id)));
}

/** Neighbours of one kind are one statement, which has each execution once; their order stays. */
function toBatches(later: readonly Later[], recorder: Recorder): Batch[] {
  const groups: Later[][] = [];
  for (const one of later) {
    const group = groups.at(-1);
    if (group !== undefined && fitsInto(group, one)) group.push(one);
    else groups.push([one]);
  }
  return groups.map((group) => toBatchOf(group, recorder));
}

function fitsInto(group: readonly Later[], one: Later): boolean {
  if (group[0]?.kind !== one.kind) return false;
  return one.kind !== "move" || group.every((other) => !("id" in other) || other.id !== one.id);
}

function toBatchOf(later: readonly Later[], { node, isAgain }: Recorder): Batch {
  const [first] = later;
  if (first?.kind === "end")
    return toEndBatch(
      later.flatMap((one) => (one.kind === "end" ? one.ended : [])),
      node,
    );
  if (first?.kind === "log")
    return toLogBatch(
      later.flatMap((one) => (one.kind === "log" ? one.record : [])),
      isAgain,
    );
  return toMoveBatch(
    later.flatMap((one) => (one.kind === "move" ? one : [])),
    node,
  );
}
