import { randomInt } from "node:crypto";
import type { Client } from "pg";
import { requireKey } from "../execution-key.ts";
import type { BeginRecord, LedgerEntry } from "../ledger-record.ts";
import type { UnitError } from "../store-error.ts";
import { runBatch } from "./batch.ts";
import { toClaimBatch, toUnclaimBatch } from "./claim-batch.ts";

/** Which executions may begin is decided by the database, in the transaction of their begin. */

/** Why executions do not begin, by their ids. */
export type RefusedBegins = ReadonlyMap<string, UnitError>;

export const NONE_REFUSED: RefusedBegins = new Map();

/** How connections are counted. */
export interface Counting {
  /** Of a month; null: there is no limit. */
  readonly limit: number | null;
  /** Of its month, that this service counts in: with a limit the first, which all lock in turn. */
  readonly part: number;
}

const PARTS = 64;

export function toCounting(limit: number | null): Counting {
  return { limit, part: limit === null ? randomInt(1, PARTS) : 0 };
}

/** Whether the database has to be asked about any of these, in a transaction. */
export function isConditional(entries: readonly LedgerEntry[], { limit }: Counting): boolean {
  return listBegins(entries).some(
    ({ claims, month }) => claims !== undefined || (limit !== null && month !== null),
  );
}

/** Takes what the executions claim, and locks the count of their month where that has a limit. */
export async function refuseBegins(
  client: Client,
  entries: readonly LedgerEntry[],
  { limit }: Counting,
): Promise<RefusedBegins> {
  const claimed = await claimAll(client, listBegins(entries));
  if (limit === null) return claimed;
  const begins = listBegins(leaveOut(entries, claimed));
  const beyond = await listBeyond(client, begins, limit);
  if (beyond.length === 0) return claimed;
  await unclaim(client, beyond);
  return new Map([...claimed, ...beyond.map(({ row }) => [row.id, USED] as const)]);
}

function listBegins(entries: readonly LedgerEntry[]): BeginRecord[] {
  return entries.flatMap(({ record }) => (record.kind === "begin" ? record : []));
}

/** An execution that does not get all that it claims has none of it. */
async function claimAll(client: Client, begins: readonly BeginRecord[]): Promise<RefusedBegins> {
  const batch = toClaimBatch(begins);
  if (batch === null) return NONE_REFUSED;
  const rows = await runBatch<{ hash: string; key: number }>(client, batch);
  const owners = new Map(rows.map(({ hash, key }) => [hash, key]));
  const losers = begins.filter(({ row, claims = [] }) =>
    claims.some(({ hash }) => owners.get(hash) !== requireKey(row.id)),
  );
  await unclaim(client, losers);
  return new Map(losers.map(({ row }) => [row.id, CLAIMED]));
}

async function unclaim(client: Client, begins: readonly BeginRecord[]): Promise<void> {
  const claiming = begins.filter(({ claims }) => claims !== undefined);
  if (claiming.length > 0) await runBatch(client, toUnclaimBatch(claiming));
}

const CLAIMED: UnitError = {
  kind: "claimed",
  code: "claimed",
  message: "Another execution was started for the same",
};

const USED: UnitError = {
  kind: "allowance",
  code: "allowance_used",
  message: "The connections of this month are used",
};

/** From here to the commit no other service counts in this month. */
const LOCK_MONTH = `with own as (insert into connection_usage (month, part, used) values ($1, 0, 0)
    on conflict (month, part) do update set used = connection_usage.used returning used)
  select (select used from own) + coalesce(
    (select sum(used) from connection_usage where month = $1 and part <> 0), 0) as used`;

/** Those for which nothing of their month is left; what a lost answer has counted is not asked again. */
async function listBeyond(
  client: Client,
  begins: readonly BeginRecord[],
  limit: number,
): Promise<BeginRecord[]> {
  const beyond: BeginRecord[] = [];
  for (const month of new Set(begins.map((begin) => begin.month)).difference(NO_MONTH)) {
    const counted = begins.filter((begin) => begin.month === month);
    const lock = { name: "month", text: LOCK_MONTH, values: [month] };
    const { rows } = await client.query<{ used: number }>(lock);
    const left = Math.max(0, limit - (rows[0]?.used ?? 0));
    if (counted.length <= left) continue;
    const there = await findThere(client, counted);
    beyond.push(...counted.filter(({ row }) => !there.has(requireKey(row.id))).slice(left));
  }
  return beyond;
}

const NO_MONTH: ReadonlySet<string | null> = new Set([null]);

/** The keys of those that were begun by a try whose answer was lost. */
export async function findThere(
  client: Client,
  begins: readonly BeginRecord[],
): Promise<Set<number>> {
  const text = "select key from execution where key = any($1::bigint[])";
  const values = [begins.map(({ row }) => requireKey(row.id))];
  const { rows } = await client.query<{ key: number }>({ text, values });
  return new Set(rows.map(({ key }) => key));
}

/** Without what belongs to executions that do not begin. */
export function leaveOut(
  entries: readonly LedgerEntry[],
  refused: RefusedBegins,
): readonly LedgerEntry[] {
  if (refused.size === 0) return entries;
  return entries.filter(({ record }) => {
    if (record.kind === "begin") return !refused.has(record.row.id);
    return "ids" in record || !refused.has(record.id);
  });
}

/** The errors of those entries that begin one of them. */
export function toErrors(
  entries: readonly LedgerEntry[],
  refused: RefusedBegins,
): (readonly [number, UnitError])[] {
  if (refused.size === 0) return [];
  return entries.flatMap(({ record }, at) => {
    const error = record.kind === "begin" ? refused.get(record.row.id) : undefined;
    return error === undefined ? [] : [[at, error] as const];
  });
}
