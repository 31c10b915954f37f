import type { Client } from "pg";
import { describeUnended, describeWaiting } from "../../../shared/busy.ts";
import type { WebhookLimits } from "../../../shared/contract/webhook-limits.ts";
import { requireKey } from "../execution-key.ts";
import { toReplacedMessage, type BeginRecord, type LedgerEntry } from "../ledger-record.ts";
import type { UnitError } from "../store-error.ts";
import { findThere, leaveOut, NONE_REFUSED, type RefusedBegins } from "./begins.ts";
import { lockWebhooks } from "./locks.ts";
import { readStates, type WebhookState } from "./webhook-states.ts";

/**
 * What webhooks limit over all nodes is decided by the database, in the transaction that begins and
 * starts their executions. What ends one, wherever and why, is what lets others start.
 */

/** What a batch wants of a webhook. */
interface Wanted {
  readonly begins: BeginRecord[];
  readonly starts: string[];
}

function listWanted(entries: readonly LedgerEntry[]): Map<string, Wanted> {
  const wanted = new Map<string, Wanted>();
  const of = (webhook: string): Wanted => {
    const found = wanted.get(webhook) ?? { begins: [], starts: [] };
    wanted.set(webhook, found);
    return found;
  };
  for (const { record } of entries) {
    if (record.kind === "begin" && record.limited !== undefined)
      of(record.row.webhook_id ?? "").begins.push(record);
    if (record.kind === "start")
      for (const { id, webhook_id } of record.limited ?? []) of(webhook_id).starts.push(id);
  }
  return wanted;
}

/** Whether the database has to be asked about any of these, in a transaction. */
export function isLimited(entries: readonly LedgerEntry[]): boolean {
  return entries.some(({ record }) => "limited" in record && record.limited !== undefined);
}

/** What is left of a batch. */
interface Limited {
  readonly entries: readonly LedgerEntry[];
  readonly refused: RefusedBegins;
  /** Executions that are not started now. */
  readonly heldBack: readonly string[];
  /** Webhooks of which the newest takes the place of those that wait. */
  readonly replacing: ReadonlySet<string>;
}

/** Leaves out what may not begin, and what may not start yet. */
export async function limitEntries(
  client: Client,
  node: string,
  entries: readonly LedgerEntry[],
): Promise<Limited> {
  const wanted = listWanted(entries);
  const webhooks = [...wanted.keys()];
  if (webhooks.length === 0)
    return { entries, refused: NONE_REFUSED, heldBack: [], replacing: new Set() };
  if (!(await lockWebhooks(client, webhooks))) return putOff(client, entries, [...wanted.values()]);
  const states = await readStates(client, webhooks, { keys: keysOf(entries), node });
  const refused = await refuseBusy(client, wanted, states);
  const beyond = states.flatMap((state) => {
    const starts = wanted.get(state.id)?.starts ?? [];
    return listHeldBack(
      state,
      starts.filter((id) => !refused.has(id)),
    );
  });
  const heldBack = await leaveStarted(client, beyond);
  const replacing = states.filter(({ limits }) => limits.when_busy === "replace");
  return {
    entries: holdBack(leaveOut(entries, refused), new Set(heldBack)),
    refused,
    heldBack,
    replacing: new Set(replacing.map(({ id }) => id)),
  };
}

/** Another node takes long to decide about one of the webhooks: it is tried again. */
async function putOff(
  client: Client,
  entries: readonly LedgerEntry[],
  wanted: readonly Wanted[],
): Promise<Limited> {
  const begins = wanted.flatMap((one) => one.begins);
  const refused = await refuse(
    client,
    begins.map((begin) => ({ begin, error: PUT_OFF })),
  );
  const starts = wanted.flatMap((one) => one.starts);
  const heldBack = await leaveStarted(
    client,
    starts.filter((id) => !refused.has(id)),
  );
  const left = holdBack(leaveOut(entries, refused), new Set(heldBack));
  return { entries: left, refused, heldBack, replacing: new Set() };
}

const PUT_OFF: UnitError = {
  kind: "unavailable",
  code: "limits",
  message: "Another node decides about this webhook",
};

function keysOf(entries: readonly LedgerEntry[]): number[] {
  return entries.flatMap(({ record }) => {
    if (record.kind === "begin") return requireKey(record.row.id);
    return "ids" in record ? record.ids.map(requireKey) : requireKey(record.id);
  });
}

async function refuseBusy(
  client: Client,
  wanted: ReadonlyMap<string, Wanted>,
  states: readonly WebhookState[],
): Promise<RefusedBegins> {
  return refuse(
    client,
    states.flatMap((state) => listBusy(state, wanted.get(state.id))),
  );
}

/** Those that were begun by a try whose answer was lost are not refused any more. */
async function refuse(client: Client, busy: readonly Busy[]): Promise<RefusedBegins> {
  if (busy.length === 0) return NONE_REFUSED;
  const there = await findThere(
    client,
    busy.map(({ begin }) => begin),
  );
  const refused = busy.filter(({ begin }) => !there.has(requireKey(begin.row.id)));
  return new Map(refused.map(({ begin, error }) => [begin.row.id, error]));
}

/** Without those that such a try has started: they run, and would wait for themselves. */
async function leaveStarted(client: Client, ids: readonly string[]): Promise<readonly string[]> {
  if (ids.length === 0) return ids;
  const text = `select id from execution where key = any($1::bigint[]) and status = 'RUNNING'`;
  const { rows } = await client.query<{ id: string }>({ text, values: [ids.map(requireKey)] });
  const started = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => !started.has(id));
}

interface Busy {
  readonly begin: BeginRecord;
  readonly error: UnitError;
}

/** One after the other: each that begins counts for those after it. */
function listBusy(
  { limits, running, waiting, free }: WebhookState,
  wanted: Wanted | undefined,
): Busy[] {
  const { begins = [], starts = [] } = wanted ?? {};
  const most = limits.max_concurrent ?? Infinity;
  const begun = new Set(begins.map(({ row }) => row.id));
  const older = starts.filter((id) => !begun.has(id)).length;
  const counts = {
    unended: running + waiting + older,
    waiting: waiting + Math.max(0, older - free),
  };
  return begins.flatMap((begin) => {
    const isFree = begin.limited?.hasThread === true && counts.unended < most;
    const error = isFree ? null : toBusy(limits, counts);
    if (error !== null) return [{ begin, error }];
    counts.unended += 1;
    if (!isFree) counts.waiting += 1;
    return [];
  });
}

interface Counts {
  readonly unended: number;
  readonly waiting: number;
}

/** Why one that cannot start at once may not begin; null: it may. */
function toBusy(limits: WebhookLimits, { unended, waiting }: Counts): UnitError | null {
  const { when_busy, max_concurrent, max_queued } = limits;
  if (when_busy === "refuse" && unended >= (max_concurrent ?? Infinity))
    return busy(describeUnended(unended));
  const queued = when_busy === "replace" ? 0 : waiting;
  if (max_queued === null || queued < max_queued) return null;
  return busy(describeWaiting(queued, " of this webhook", ", as many as may wait"));
}

function busy(message: string): UnitError {
  return { kind: "busy", code: "webhook_busy", message };
}

/** First come first served, on whichever node they wait. */
function listHeldBack({ free, oldest }: WebhookState, starts: readonly string[]): string[] {
  const others = oldest.map(requireKey);
  let started = 0;
  return starts
    .toSorted((one, other) => requireKey(one) - requireKey(other))
    .filter((id) => {
      const key = requireKey(id);
      const older = others.filter((other) => other < key).length;
      if (older + started >= free) return true;
      started += 1;
      return false;
    });
}

function holdBack(
  entries: readonly LedgerEntry[],
  heldBack: ReadonlySet<string>,
): readonly LedgerEntry[] {
  if (heldBack.size === 0) return entries;
  return entries.flatMap((entry) => {
    if (entry.record.kind !== "start") return [entry];
    const ids = entry.record.ids.filter((id) => !heldBack.has(id));
    return ids.length === 0 ? [] : [{ ...entry, record: { ...entry.record, ids } }];
  });
}

const REPLACE = `update execution set status = 'ENDED_CANCELLED', status_message = $3, ended_at = $4
  where coalesce(webhook_id, '') = $1 and key <> $2 and status = 'PENDING' and ended_at is null`;

/** What waits of these webhooks, on whichever node, ends with the begin of the newest one. */
export async function replaceWaiting(
  client: Client,
  entries: readonly LedgerEntry[],
  webhooks: ReadonlySet<string>,
): Promise<void> {
  if (webhooks.size === 0) return;
  const newest = new Map<string, BeginRecord["row"]>();
  for (const { record } of entries)
    if (record.kind === "begin" && webhooks.has(record.row.webhook_id ?? ""))
      newest.set(record.row.webhook_id ?? "", record.row);
  for (const [webhook, { id, created_at }] of newest) {
    const values = [webhook, requireKey(id), toReplacedMessage(id), created_at];
    await client.query({ name: "replace", text: REPLACE, values });
  }
}
