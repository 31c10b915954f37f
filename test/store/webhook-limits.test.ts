import assert from "node:assert/strict";
import { after, test } from "node:test";
import pg from "pg";
import { WEBHOOK_DEFAULTS } from "../../src/server/store/webhook-columns.ts";
import { newExecutionId, newId } from "../../src/shared/id.ts";
import type { WebhookLimits } from "../../src/shared/contract/webhook-limits.ts";
import { findExecution } from "../../src/server/store/executions.ts";
import type { BeginRecord, LedgerRecord } from "../../src/server/store/ledger-record.ts";
import type { StoreNode } from "../../src/server/store/node.ts";
import { lockWebhooks } from "../../src/server/store/postgres/locks.ts";
import { UnknownBegins } from "../../src/server/store/postgres/unknown-begins.ts";
import { openPostgresStore } from "../../src/server/store/postgres/store.ts";
import type { Store } from "../../src/server/store/store.ts";
import { isBusy, isPassing } from "../../src/server/store/store-error.ts";
import { insertWebhook } from "../../src/server/store/webhooks.ts";
import { poll } from "../blackbox/scenario.ts";
import { openFaultProxy } from "../fault-proxy.ts";
import { HUNG_MS } from "../hung.ts";
import { openPostgres } from "../postgres-server.ts";
import { INPUT, newRow } from "./rows.ts";
import { POSTGRES_THREAD } from "./postgres-thread.ts";

/** How many executions of a webhook run and wait at once, over two nodes of one database. */

const FIGURES = { state: "ready", running: 0, waiting: 0 } as const;
/** Of nodes that are to be given up. */
const SHORT_MS = 700;

const server = await openPostgres();
after(() => server.stop());

type NodeStore = Store & { readonly node: StoreNode };
type Both = readonly [NodeStore, NodeStore];

async function openNodeStore(url: string, leaseMs = 60_000): Promise<NodeStore> {
  const node = { name: "n", version: "0", leaseMs, folderId: newId(), folderPlace: "1:1" };
  const options = {
    url,
    durability: "normal",
    connections: 8,
    thread: POSTGRES_THREAD,
    name: "t",
  } as const;
  const store = await openPostgresStore({ ...options, node });
  assert.ok(store.node !== null);
  return store as NodeStore;
}

async function openBoth(stack: AsyncDisposableStack, limits: Partial<WebhookLimits>) {
  const url = await server.createDatabase();
  const both = [await openNodeStore(url), await openNodeStore(url)] as const;
  for (const store of both) stack.use(store);
  await createWebhook(both[0], limits);
  return { url, both };
}

async function createWebhook(store: Store, limits: Partial<WebhookLimits>): Promise<void> {
  const none = { role_id: null, project_id: null, bundle_id: null, key_hash: null };
  const keys = { previous_key_hash: null, previous_key_until: null };
  const uses = { key_used_at: null, previous_key_used_at: null };
  const names = { id: "w", name: "w", description: "", flow: "f", require_login: 0 };
  const by = { created_by: "u", created_at: 1, modified_by: "u", modified_at: 1 };
  const flags = { is_enabled: 1, is_productive: 1, execution_location: "webhook" } as const;
  const whole = { rate: null, max_concurrent: null, when_busy: "queue", max_queued: null };
  const row = { ...WEBHOOK_DEFAULTS, ...none, ...keys, ...uses, ...names, ...flags, ...by };
  await store.commit([
    insertWebhook(store, { ...row, limits: JSON.stringify({ ...whole, ...limits }) }),
  ]);
}

type Told = "written" | "held back" | "busy" | "away" | "overtaken";

/** Resolves with what became of it. */
function append(store: Store, record: LedgerRecord, text: string | null = null): Promise<Told> {
  return new Promise((resolve, reject) => {
    store.ledger.append(record, text, {
      applied: () => resolve("written"),
      heldBack: () => resolve("held back"),
      overtaken: () => resolve("overtaken"),
      failed(error) {
        if (isBusy(error)) resolve("busy");
        else if (isPassing(error)) resolve("away");
        else reject(error);
      },
    });
  });
}

function newBegin(webhook_id: string | null = "w"): BeginRecord {
  const { input_value: _, ...input } = INPUT;
  const waiting = { status: "PENDING", started_at: null, ended_at: null } as const;
  const row = newRow(newExecutionId(), { ...waiting, webhook_id });
  const limited = webhook_id === null ? {} : { limited: { hasThread: true } };
  return { kind: "begin", row, input, month: null, ...limited };
}

async function begin(store: Store): Promise<string> {
  const record = newBegin();
  assert.equal(await append(store, record, "1"), "written");
  return record.row.id;
}

function start(store: Store, id: string, at = 7): Promise<Told> {
  const limited = [{ id, webhook_id: "w" }];
  return append(store, { kind: "start", ids: [id], at, limited });
}

/** What came of both, in one batch; where another node decides for long, of a later try. */
async function beginAndStart(store: Store): Promise<Told> {
  const record = newBegin();
  const told = [append(store, record, "1"), start(store, record.row.id)];
  const [begun, started] = await Promise.all(told);
  if (begun === "away") return beginAndStart(store);
  return begun === "written" ? (started as Told) : (begun as Told);
}

function end(store: Store, id: string): Promise<Told> {
  const ending = { status: "ENDED_SUCCESS", status_message: null, ended_at: 9 } as const;
  return append(store, { kind: "end", id, ...ending, response: null }, '"done"');
}

async function statusOf(store: Store, id: string): Promise<string | undefined> {
  return (await findExecution(store, id))?.status;
}

/** One that waits and is recorded at either node in turn. */
async function beginAll([one, other]: Both, count: number) {
  const all: { readonly id: string; readonly store: NodeStore }[] = [];
  for (let at = 0; at < count; at += 1) {
    const store = at % 2 === 0 ? one : other;
    all.push({ id: await begin(store), store });
  }
  return all;
}

const count = (told: readonly Told[], what: Told): number =>
  told.filter((one) => one === what).length;

test("what starts at once on both is never more than may run", async () => {
  await using stack = new AsyncDisposableStack();
  const { both } = await openBoth(stack, { max_concurrent: 3 });
  const told = await Promise.all(
    Array.from({ length: 40 }, (_, at) => beginAndStart(both[at % 2] as Store)),
  );
  assert.deepEqual([count(told, "written"), count(told, "held back")], [3, 37]);
});

test("the oldest starts first, on whichever node it waits", async () => {
  await using stack = new AsyncDisposableStack();
  const { both } = await openBoth(stack, { max_concurrent: 2 });
  const all = await beginAll(both, 5);
  for (let first = 0; first < all.length; first += 1) {
    const [startable] = await both[0].node.listStartable(["w", "none"]);
    const wanted = first === 0 ? all.slice(0, 2) : all.slice(first + 1, first + 2);
    assert.deepEqual(startable, {
      webhook_id: "w",
      startedAt: first === 0 ? null : 7,
      free: first === 0 ? 2 : 1,
      ids: wanted.map(({ id }) => id),
    });
    // The youngest asks first.
    const started: string[] = [];
    for (const { id, store } of all.slice(first).toReversed())
      if ((await statusOf(store, id)) === "PENDING" && (await start(store, id)) === "written")
        started.push(id);
    assert.deepEqual(
      started.toReversed(),
      wanted.map(({ id }) => id),
    );
    const { id, store } = all[first] as (typeof all)[number];
    assert.equal(await end(store, id), "written");
  }
});

test("what ends in the batch of the next start lets that start", async () => {
  await using stack = new AsyncDisposableStack();
  const { both } = await openBoth(stack, { max_concurrent: 1 });
  const [first, second] = [await begin(both[0]), await begin(both[0])];
  assert.equal(await start(both[0], first), "written");
  assert.equal(await start(both[0], second), "held back");
  const together = [end(both[0], first), start(both[0], second)];
  assert.deepEqual(await Promise.all(together), ["written", "written"]);
});

test("what has another node's execution end here counts on, and lets none start", async () => {
  await using stack = new AsyncDisposableStack();
  const { both } = await openBoth(stack, { max_concurrent: 1 });
  const taken = await begin(both[0]);
  const room = [{ flow: "f", count: 9, version: null, isFetching: false, broken: [] }];
  const wanted = { room, waitingSince: Number.MAX_SAFE_INTEGER, busyWebhooks: [] };
  assert.equal((await both[1].node.take(wanted)).length, 1);
  assert.equal(await start(both[1], taken), "written");
  const waiting = await begin(both[0]);
  const together = [end(both[0], taken), start(both[0], waiting)];
  assert.deepEqual(await Promise.all(together), ["overtaken", "held back"]);
  assert.equal(await end(both[1], taken), "written");
  assert.equal(await start(both[0], waiting), "written");
});

test("what waits again after it was started does not count", async () => {
  await using stack = new AsyncDisposableStack();
  const { both } = await openBoth(stack, { max_concurrent: 1 });
  const [first, second] = [await begin(both[0]), await begin(both[1])];
  assert.equal(await start(both[0], first), "written");
  assert.equal(await append(both[0], { kind: "wait", ids: [first], at: 7 }), "written");
  assert.equal(await start(both[1], second), "held back", "its turn is the first one's");
  assert.equal(await end(both[0], first), "written");
  assert.equal(await start(both[1], second), "written");
});

test("raised and removed limits hold with the next start", async () => {
  await using stack = new AsyncDisposableStack();
  const { url, both } = await openBoth(stack, { max_concurrent: 1 });
  const all = await beginAll(both, 4);
  const startAll = async () => {
    const told: Told[] = [];
    for (const { id, store } of all)
      if ((await statusOf(store, id)) === "PENDING") told.push(await start(store, id));
    return count(told, "written");
  };
  assert.equal(await startAll(), 1);
  const client = new pg.Client(url);
  await client.connect();
  stack.defer(() => client.end());
  await client.query(`update webhook set limits = replace(limits, ':1,', ':2,')`);
  assert.equal(await startAll(), 1);
  await client.query("update webhook set limits = null");
  assert.equal(await startAll(), 2);
});

test("who is busy refuses, and as many have begun at both as may", async () => {
  await using stack = new AsyncDisposableStack();
  const { both } = await openBoth(stack, { max_concurrent: 4, when_busy: "refuse" });
  const records = Array.from({ length: 30 }, () => newBegin());
  const told = await Promise.all(records.map((one, at) => append(both[at % 2] as Store, one, "1")));
  assert.deepEqual([count(told, "written"), count(told, "busy")], [4, 26]);
  const [first] = records.filter((_, at) => told[at] === "written");
  const at = records.indexOf(first as BeginRecord);
  const owner = both[at % 2] as Store;
  assert.equal(await append(owner, first as BeginRecord, "1"), "written", "an answer was lost");
  assert.equal(await append(both[0], newBegin(null), "1"), "written", "of no webhook");
  assert.equal(await end(owner, first?.row.id ?? ""), "written");
  assert.equal(await append(both[0], newBegin(), "1"), "written");
  assert.equal(await append(both[1], newBegin(), "1"), "busy");
});

test("no more wait on both than may wait", async () => {
  await using stack = new AsyncDisposableStack();
  const { both } = await openBoth(stack, { max_concurrent: 2, max_queued: 3 });
  const told = await Promise.all(
    Array.from({ length: 20 }, (_, at) => beginAndStart(both[at % 2] as Store)),
  );
  const counts = [count(told, "written"), count(told, "held back"), count(told, "busy")];
  assert.deepEqual(counts, [2, 3, 15]);
});

test("the newest takes the place of what waits on the other node, and of nothing that runs", async () => {
  await using stack = new AsyncDisposableStack();
  const { both } = await openBoth(stack, { max_concurrent: 1, when_busy: "replace" });
  const running = await begin(both[0]);
  assert.equal(await start(both[0], running), "written");
  const waiting = await begin(both[0]);
  const newest = await begin(both[1]);
  const replaced = await findExecution(both[1], waiting);
  assert.deepEqual(
    [replaced?.status, replaced?.status_message],
    ["ENDED_CANCELLED", `Replaced by ${newest}`],
  );
  assert.deepEqual(await both[0].node.listLost([running, waiting]), [waiting]);
  assert.equal(await start(both[0], waiting), "held back");
  assert.equal(await end(both[0], running), "written");
  assert.equal(await start(both[0], waiting), "overtaken", "it has ended");
  assert.equal(await start(both[1], newest), "written");
});

test("a begin that is written again, its answer lost, replaces nothing that has replaced it", async () => {
  await using stack = new AsyncDisposableStack();
  const { both } = await openBoth(stack, { max_concurrent: 1, when_busy: "replace" });
  await start(both[0], await begin(both[0]));
  const record = newBegin();
  assert.equal(await append(both[0], record, "1"), "written");
  const newest = await begin(both[1]);
  assert.equal(await append(both[0], record, "1"), "overtaken");
  assert.equal(await statusOf(both[0], record.row.id), "ENDED_CANCELLED");
  assert.equal(await statusOf(both[0], newest), "PENDING");
});

async function replaceUnanswered(max_concurrent: number, isStarted: boolean): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const { url, both } = await openBoth(stack, { max_concurrent, when_busy: "replace" });
  const proxy = await openFaultProxy(url);
  stack.defer(() => proxy.close());
  const store = stack.use(await openNodeStore(proxy.through(url)));
  stack.defer(() => proxy.open());
  const running = await begin(store);
  assert.equal(await start(store, running), "written");
  const waiting = await begin(both[0]);
  const newest = newBegin();
  const plain = newBegin(null);
  const client = new pg.Client(url);
  await client.connect();
  stack.defer(() => client.end());
  await client.query(`create function slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(1); return null; end $$`);
  await client.query(`create constraint trigger slow after insert on execution
    deferrable initially deferred for each row when (new.id = '${newest.row.id}')
    execute function slow()`);
  const told = [append(store, newest, "1"), append(store, plain, "1")];
  if (isStarted) told.push(start(store, newest.row.id));
  const committing = "select from pg_stat_activity where wait_event = 'PgSleep'";
  await poll("its commit", async () => (await client.query(committing)).rowCount || null);
  proxy.holdAnswers();
  await poll("the first to be replaced", async () =>
    (await statusOf(both[0], waiting)) === "ENDED_CANCELLED" ? true : null,
  );
  assert.deepEqual(new Set(await Promise.all(told)), new Set(["away"]));
  proxy.open();
  await poll("the other one to end", async () =>
    (await statusOf(both[0], plain.row.id)) === "ENDED_ERROR" ? true : null,
  );
  const room = [{ flow: newest.row.flow, count: 9, version: null, isFetching: false, broken: [] }];
  const taken = await both[0].node.take({ room, waitingSince: null, busyWebhooks: [] });
  assert.deepEqual(
    taken.map(({ id }) => id),
    [newest.row.id],
  );
  assert.equal(await end(store, running), "written");
  assert.equal(await start(both[0], newest.row.id), "written");
}

test("one that has replaced what waited waits itself, though its begin was not answered", () =>
  replaceUnanswered(1, false));

test("so does one that was begun and started in one batch", () => replaceUnanswered(3, true));

test("a begin that is settled twice, the first answer lost, leaves what was started in between", async () => {
  await using stack = new AsyncDisposableStack();
  const { url, both } = await openBoth(stack, { max_concurrent: 3, when_busy: "replace" });
  const client = new pg.Client(url);
  await client.connect();
  stack.defer(() => client.end());
  const record = newBegin();
  const plain = newBegin(null);
  for (const one of [record, plain]) assert.equal(await append(both[0], one, "1"), "written");
  const entries = [record, plain].map((one) => ({ record: one, text: "1" }));
  const tries = [new UnknownBegins(), new UnknownBegins()] as const;
  for (const one of tries) one.add(entries, new Set([both[0].node.id]));
  await tries[0].settle(client);
  const [left, ended] = [record.row.id, plain.row.id];
  const statuses = async () => [await statusOf(both[0], left), await statusOf(both[0], ended)];
  assert.deepEqual(await statuses(), ["PENDING", "ENDED_ERROR"]);
  const room = [{ flow: record.row.flow, count: 9, version: null, isFetching: false, broken: [] }];
  const taken = await both[0].node.take({ room, waitingSince: null, busyWebhooks: [] });
  assert.deepEqual([taken.length, await start(both[0], left, Date.now() + 1)], [1, "written"]);
  await tries[1].settle(client);
  assert.deepEqual(await statuses(), ["RUNNING", "ENDED_ERROR"]);
  assert.equal(await end(both[0], left), "written");
});

test("a node that holds a webhook's lock and says no more keeps nobody else's calls waiting", async () => {
  await using stack = new AsyncDisposableStack();
  const { url, both } = await openBoth(stack, { max_concurrent: 5, max_queued: 5 });
  const frozen = new pg.Client(url);
  await frozen.connect();
  stack.defer(() => frozen.end());
  const id = await begin(both[0]);
  await frozen.query("begin");
  assert.ok(await lockWebhooks(frozen, ["w"]));
  const began = performance.now();
  const told = [start(both[0], id), append(both[0], newBegin()), append(both[0], newBegin(null))];
  assert.deepEqual(await Promise.all(told), ["held back", "away", "written"]);
  assert.ok(performance.now() - began < HUNG_MS, "it holds the lock for ever");
  await frozen.query("rollback");
  assert.equal(await start(both[0], id), "written");
});

test("what a try has begun and started whose answer was lost is neither refused nor held back", async () => {
  await using stack = new AsyncDisposableStack();
  const limits = { max_concurrent: 1, when_busy: "refuse" } as const;
  const { url, both } = await openBoth(stack, limits);
  const record = newBegin();
  const write = () => Promise.all([append(both[0], record, "1"), start(both[0], record.row.id)]);
  assert.deepEqual(await write(), ["written", "written"]);
  assert.deepEqual(await write(), ["written", "written"], "once more");
  const frozen = new pg.Client(url);
  await frozen.connect();
  stack.defer(() => frozen.end());
  await frozen.query("begin");
  assert.ok(await lockWebhooks(frozen, ["w"]));
  assert.deepEqual(await write(), ["written", "written"], "while another decides");
  assert.equal(await statusOf(both[0], record.row.id), "RUNNING");
});

test("the places of a lost node come back with the end of its lease, of one that leaves at once", async () => {
  await using stack = new AsyncDisposableStack();
  const { url, both } = await openBoth(stack, { max_concurrent: 1 });
  const proxy = await openFaultProxy(url);
  stack.defer(() => proxy.close());
  const lost = await openNodeStore(proxy.through(url), SHORT_MS);
  stack.defer(() => lost[Symbol.asyncDispose]());
  assert.equal(await start(lost, await begin(lost)), "written");
  const id = await begin(both[0]);
  assert.equal(await start(both[0], id), "held back");
  proxy.drop();
  stack.defer(() => proxy.open());
  await poll("it to be given up", async () => {
    await both[1].node.renew(FIGURES);
    return ((await both[1].node.sweep())?.interrupted ?? []).length > 0 ? true : null;
  });
  assert.equal(await start(both[0], id), "written");
  const next = await begin(both[1]);
  assert.equal(await start(both[1], next), "held back");
  await both[0][Symbol.asyncDispose]();
  assert.equal(await start(both[1], next), "written");
});

test("what may not start stays where it waits, until another may", async () => {
  await using stack = new AsyncDisposableStack();
  const { both } = await openBoth(stack, { max_concurrent: 1 });
  const [running, waiting] = [await begin(both[0]), await begin(both[0])];
  assert.equal(await start(both[0], running), "written");
  const room = [{ flow: "f", count: 9, version: null, isFetching: false, broken: [] }];
  const wanted = { room, waitingSince: Number.MAX_SAFE_INTEGER, busyWebhooks: [] };
  assert.deepEqual(await both[1].node.take(wanted), []);
  assert.equal(await end(both[0], running), "written");
  assert.deepEqual(
    (await both[1].node.take(wanted)).map(({ id }) => id),
    [waiting],
  );
});

test("limits are looked at without reading what has ended, though planned when little had", async () => {
  await using stack = new AsyncDisposableStack();
  const { url, both } = await openBoth(stack, { max_concurrent: 1, max_queued: 50 });
  const all = await beginAll(both, 10);
  const client = new pg.Client(url);
  await client.connect();
  stack.defer(() => client.end());
  await client.query(`insert into execution select (jsonb_populate_record(execution,
      jsonb_build_object('key', key - n, 'id', 'x' || n, 'status', 'ENDED_SUCCESS', 'ended_at', 1))).*
    from execution, generate_series(1, 20000) as n where id = '${all[0]?.id}'`);
  await client.query("select pg_stat_reset_single_table_counters('execution'::regclass)");
  const told: Told[] = [];
  for (const { id, store } of all) told.push(await start(store, id));
  assert.deepEqual([count(told, "written"), count(told, "held back")], [1, 9]);
  for (const store of both) assert.equal((await store.node.listStartable(["w"])).length, 1);
  // A connection counts what it has read at its end, which comes after that of its client.
  for (const store of both) await store[Symbol.asyncDispose]();
  await poll("their connections to end", async () => {
    const { rowCount } =
      await client.query(`select from pg_stat_activity where pid <> pg_backend_pid()
      and datname = current_database() and backend_type = 'client backend'`);
    return rowCount === 0 ? true : null;
  });
  const { rows } = await client.query<{ read: number }>(`select
    (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_user_tables
    where relname = 'execution'`);
  const { read } = rows[0] ?? { read: 0 };
  assert.ok(read > 0 && read < 2000, `${read} rows were read`);
});
