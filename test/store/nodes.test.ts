import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import { keyOf, newExecutionId, newId } from "../../src/shared/id.ts";
import { findExecution, findInput } from "../../src/server/store/executions.ts";
import type { ClaimRow } from "../../src/server/store/claim-row.ts";
import { findClaim } from "../../src/server/store/claims.ts";
import type { BeginRecord, LedgerRecord } from "../../src/server/store/ledger-record.ts";
import type { StoreNode } from "../../src/server/store/node.ts";
import { NODES_LOCK } from "../../src/server/store/postgres/locks.ts";
import { sendingMs, toLimits, transact } from "../../src/server/store/postgres/connection.ts";
import { Membership } from "../../src/server/store/postgres/membership.ts";
import { openPostgresStore, type PostgresOptions } from "../../src/server/store/postgres/store.ts";
import { UnknownBegins } from "../../src/server/store/postgres/unknown-begins.ts";
import { listenForWaiting } from "../../src/server/store/postgres/waiting-hints.ts";
import { toStatement } from "../../src/server/store/prepared.ts";
import type { StoreError } from "../../src/server/store/store-error.ts";
import type { Store } from "../../src/server/store/store.ts";
import { openPostgres } from "../postgres-server.ts";
import { poll } from "../blackbox/scenario.ts";
import { openFaultProxy } from "../fault-proxy.ts";
import { INPUT, newRow } from "./rows.ts";
import { POSTGRES_THREAD } from "./postgres-thread.ts";

/** Nodes of one database: who has an execution, and what becomes of those of a lost one. */

const LEASE_MS = 60_000;
/** Of nodes that are to be given up. */
const SHORT_MS = 700;
/** Other tests may have databases of the same server. */
const HERE = "database = (select oid from pg_database where datname = current_database())";
const FIGURES = { state: "ready", running: 0, waiting: 0 } as const;

const OPTIONS = {
  durability: "normal",
  connections: 8,
  thread: POSTGRES_THREAD,
  name: "t",
} as const;

const server = await openPostgres();
after(() => server.stop());

/** Changes the database as nobody else does. */
async function query(url: string, ...texts: readonly string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  for (const text of texts) await client.query(text);
  await client.end();
}

type NodeStore = Store & { readonly node: StoreNode };

async function openNodeStore(
  url: string,
  { folderId = newId(), folderPlace = "1:1", leaseMs = LEASE_MS } = {},
  reportInterrupted: PostgresOptions["reportInterrupted"] = () => {},
): Promise<NodeStore> {
  const node = { name: "n", version: "0", leaseMs, folderId, folderPlace };
  const store = await openPostgresStore({ ...OPTIONS, url, node, reportInterrupted });
  assert.ok(store.node !== null);
  return store as NodeStore;
}

/** A store of a database of its own, behind a network that can be broken. */
async function openThrough(opened: AsyncDisposableStack) {
  const url = await server.createDatabase();
  const proxy = await openFaultProxy(url);
  opened.defer(() => proxy.close());
  const store = opened.use(await openNodeStore(proxy.through(url)));
  // A store waits for what is silent before it is closed.
  opened.defer(() => proxy.drop());
  return { url, proxy, store };
}

/** Somebody else at a database. */
async function openClient(opened: AsyncDisposableStack, url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  opened.defer(() => client.end());
  return client;
}

/** Resolves with what became of it. */
function append(store: Store, record: LedgerRecord, text: string | null = null): Promise<string> {
  return new Promise((resolve, reject) => {
    store.ledger.append(record, text, {
      applied: () => resolve("applied"),
      overtaken: (ids) => resolve(`overtaken ${ids.join()}`),
      failed: reject,
    });
  });
}

function newBegin(claims: readonly ClaimRow[] = [], webhook_id: string | null = null): BeginRecord {
  const { input_value: _, ...input } = INPUT;
  const waiting = { status: "PENDING", started_at: null, ended_at: null } as const;
  const row = newRow(newExecutionId(), { ...waiting, webhook_id });
  return { kind: "begin", row, input, month: null, ...(claims.length > 0 && { claims }) };
}

async function begin(store: Store, webhook_id: string | null = null, text = "1"): Promise<string> {
  const record = newBegin([], webhook_id);
  await append(store, record, text);
  return record.row.id;
}

const start = (store: Store, id: string, at = 7) => append(store, { kind: "start", ids: [id], at });

function end(store: Store, id: string, response: string | null = null): Promise<string> {
  const ending = { status: "ENDED_SUCCESS", status_message: null, ended_at: 9 } as const;
  return append(store, { kind: "end", id, ...ending, response }, '"done"');
}

const ALL = {
  room: [
    {
      flow: newRow(newExecutionId(), {}).flow,
      count: 9,
      version: null,
      isFetching: false,
      broken: [],
    },
  ],
  waitingSince: null,
  busyWebhooks: [],
};

test("what waits is one node's, and who loses it changes nothing any more", async () => {
  const url = await server.createDatabase();
  await using one = await openNodeStore(url);
  await using other = await openNodeStore(url);
  const id = await begin(one);
  assert.deepEqual(await other.node.take(ALL), [], "its node lives, and it has not waited long");
  assert.deepEqual(await other.node.listWaiting(), [ALL.room[0]?.flow]);
  const taken = await other.node.take({ ...ALL, waitingSince: Number.MAX_SAFE_INTEGER });
  assert.deepEqual(
    taken.map((row) => [row.id, row.node]),
    [[id, "n"]],
  );
  assert.deepEqual(await one.node.listLost([id]), [id]);
  assert.equal(await start(one, id), `overtaken ${id}`);
  assert.equal(await end(one, id), `overtaken ${id}`);
  assert.equal((await findExecution(one, id))?.status, "PENDING");
  assert.equal(await start(other, id), "applied");
  assert.equal(await end(other, id), "applied");
  assert.equal((await findExecution(one, id))?.status, "ENDED_SUCCESS");
});

test("a node starts again what it could not write that it waits", async () => {
  await using store = await openNodeStore(await server.createDatabase());
  const id = await begin(store);
  assert.equal(await start(store, id, 7), "applied");
  assert.equal(await start(store, id, 8), "applied", "it would run for ever, and nowhere");
  assert.equal((await findExecution(store, id))?.started_at, 8);
  assert.equal(await end(store, id), "applied");
  assert.equal(await start(store, id, 9), `overtaken ${id}`);
});

test("what a webhook holds back here too is taken from lost nodes alone", async () => {
  const url = await server.createDatabase();
  const one = await openNodeStore(url);
  await using other = await openNodeStore(url);
  const [busy, free] = [await begin(one, "busy"), await begin(one, "free")];
  const wanted = { ...ALL, waitingSince: Number.MAX_SAFE_INTEGER, busyWebhooks: ["busy"] };
  const take = async () => (await other.node.take(wanted)).map(({ id }) => id);
  assert.deepEqual(await take(), [free]);
  await one[Symbol.asyncDispose]();
  assert.deepEqual(await take(), [busy]);
});

test("two nodes that want the same take each execution once", async () => {
  const url = await server.createDatabase();
  await using one = await openNodeStore(url);
  await using two = await openNodeStore(url);
  await using three = await openNodeStore(url);
  const ids = await Promise.all(Array.from({ length: 30 }, () => begin(one)));
  const wanted = { ...ALL, waitingSince: Number.MAX_SAFE_INTEGER };
  const own = new Map<StoreNode, Set<string>>([two, three].map(({ node }) => [node, new Set()]));
  for (let round = 0; round < 5; round += 1)
    await Promise.all(
      [...own].map(async ([node, taken]) => {
        for (const row of await node.take(wanted)) taken.add(row.id);
      }),
    );
  // One may have taken what the other had: each knows what it has lost.
  for (const [node, taken] of own)
    for (const id of await node.listLost([...taken])) taken.delete(id);
  const kept = [...own.values()].flatMap((taken) => [...taken]);
  assert.equal(new Set(kept).size, kept.length, "taken by both");
  assert.deepEqual(kept.toSorted(), (await one.node.listLost(ids)).toSorted());
});

test("a node whose lease is over is given up, with what ran there; it comes back as a new one", async () => {
  const url = await server.createDatabase();
  await using one = await openNodeStore(url, { leaseMs: SHORT_MS });
  await using other = await openNodeStore(url);
  const [ran, waits] = [await begin(one), await begin(one)];
  await start(one, ran);
  await wait(SHORT_MS + 100);
  await other.node.renew(FIGURES);
  const { nodes, interrupted } = (await other.node.sweep()) ?? {};
  const told = interrupted?.map(({ id, flow, webhook }) => [id, flow, webhook]);
  assert.deepEqual([nodes, told], [["n"], [[ran, "f", null]]]);
  const lost = await findExecution(other, ran);
  assert.deepEqual(
    [lost?.status, lost?.status_message],
    ["ENDED_ERROR", "interrupted: its node was lost"],
  );
  assert.equal(await end(one, ran), `overtaken ${ran}`);
  assert.equal(await start(one, waits), `overtaken ${waits}`, "it is no node any more");
  const [taken] = await other.node.take(ALL);
  assert.equal(taken?.id, waits);
  assert.equal((await one.node.renew(FIGURES)).isMember, false);
  const before = one.node.id;
  await one.node.rejoin();
  assert.notEqual(one.node.id, before);
  assert.equal(await start(one, await begin(one)), "applied");
  // Its lease is short: it may be over again by the time at which the other counts.
  await poll("it to be counted", async () => {
    await one.node.renew(FIGURES);
    await other.node.renew(FIGURES);
    return other.node.others === 1 ? true : null;
  });
});

test("a node that could not come back whole is none, and comes back at the next try", async () => {
  const url = await server.createDatabase();
  await using opened = new AsyncDisposableStack();
  const client = await openClient(opened, url);
  const folder = newId();
  await using _other = await openNodeStore(url);
  const node = { name: "n", version: "0", leaseMs: LEASE_MS, folderId: folder, folderPlace: "1:1" };
  const membership = new Membership({
    ...OPTIONS,
    url,
    node,
    allowance: null,
    listMs: 0,
    isBeside: false,
  });
  await membership.join(client);
  const { id } = membership;
  await client.query("delete from node where folder_id = $1", [folder]);
  await client.query("alter table execution rename column key to other");
  await assert.rejects(membership.join(client), { code: "42703" });
  await client.query("alter table execution rename column other to key");
  assert.equal(membership.id, id);
  assert.equal((await membership.renew(client, FIGURES)).isMember, false);
  const again = await membership.join(client);
  assert.equal(again.id, membership.id);
  assert.ok((await membership.renew(client, FIGURES)).isMember);
});

test("a start in the same folder ends what its last one ran, and nobody else's", async () => {
  const url = await server.createDatabase();
  await using other = await openNodeStore(url);
  const theirs = await begin(other);
  await start(other, theirs);
  const folder = newId();
  const first = await openNodeStore(url, { folderId: folder });
  const ran = await begin(first);
  await start(first, ran);
  // As after a kill: its row is there still.
  const told: string[] = [];
  await using again = await openNodeStore(url, { folderId: folder }, (executions) =>
    told.push(...executions.map(({ id, flow, webhook }) => `${id} ${flow} ${webhook}`)),
  );
  assert.deepEqual(told, [`${ran} f null`]);
  assert.equal((await findExecution(again, ran))?.status_message, "interrupted by a restart");
  assert.equal((await findExecution(again, theirs))?.status, "RUNNING");
  await assert.rejects(
    openNodeStore(url, { folderId: folder, folderPlace: "2:2" }),
    // Tried again: it may be the same folder, on a disk that has another number since a reset.
    {
      exitCode: 1,
      message: /node\.id\. If this folder is a copy .*If it is its folder.* within 60 s$/,
    },
  );
  await first[Symbol.asyncDispose]();
});

test("what runs when a node leaves ends then, and what waits is for others", async () => {
  const url = await server.createDatabase();
  await using other = await openNodeStore(url);
  const told: string[] = [];
  const one = await openNodeStore(url, {}, (executions) =>
    told.push(...executions.map(({ id, status_message }) => `${id} ${status_message}`)),
  );
  const [ran, waits] = [await begin(one), await begin(one)];
  await start(one, ran);
  await one[Symbol.asyncDispose]();
  assert.deepEqual(told, [`${ran} interrupted by a restart`]);
  assert.equal((await findExecution(other, ran))?.status_message, "interrupted by a restart");
  assert.equal((await other.node.take(ALL))[0]?.id, waits);
});

test("keys of nodes are apart, whatever their clocks say", async () => {
  const url = await server.createDatabase();
  const slots = new Set<number>();
  const ids = new Set<string>();
  await using stores = new AsyncDisposableStack();
  for (let n = 0; n < 4; n += 1) {
    const store = stores.use(await openNodeStore(url));
    const made = Array.from({ length: 200 }, () => newExecutionId());
    for (const id of made) ids.add(String(keyOf(id)));
    slots.add(Math.floor(((keyOf(made[0] as string) as number) % 4096) / 64));
    await begin(store);
  }
  assert.equal(slots.size, 4);
  assert.equal(ids.size, 800);
});

test("what a node tells reaches the others, not itself, and again after their connection was lost", async () => {
  const url = await server.createDatabase();
  const proxy = await openFaultProxy(url);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => proxy.close());
  await using one = await openNodeStore(url);
  await using other = await openNodeStore(proxy.through(url));
  const heard = { one: 0, other: 0 };
  one.node.onWaiting(() => (heard.one += 1));
  other.node.onWaiting(() => (heard.other += 1));
  const tell = async (node: StoreNode): Promise<true | null> => {
    const before = heard.other;
    await node.tellWaiting();
    await other.node.renew(FIGURES).catch(() => {});
    return heard.other > before ? true : null;
  };
  await poll("it to be heard", () => tell(one.node));
  proxy.drop();
  await assert.rejects(other.node.renew(FIGURES), { kind: "unavailable" });
  proxy.open();
  await poll("it to be heard again", () => tell(one.node));
  await one.node.renew(FIGURES);
  assert.equal(heard.one, 0);
  await other.node.tellWaiting();
  await poll("the other way round", async () => (heard.one === 1 ? true : null));
});

test("through a pooler nothing is listened to", async () => {
  const client = new pg.Client(await server.createDatabase());
  await client.connect();
  const listChannels = async () => (await client.query("select pg_listening_channels()")).rows;
  // A pooler has numbers of its own for what a client is to take for the server's process.
  const { processID } = client as pg.Client & { processID: number };
  Object.assign(client, { processID: processID + 1 });
  await listenForWaiting(client, () => {});
  assert.deepEqual(await listChannels(), []);
  Object.assign(client, { processID });
  await listenForWaiting(client, () => {});
  assert.equal((await listChannels()).length, 1);
  await client.end();
});

test("a node that is cut off while it looks for lost ones holds back nobody's look for long", async () => {
  const url = await server.createDatabase();
  const proxy = await openFaultProxy(url);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => proxy.close());
  await using other = await openNodeStore(url);
  const cut = opened.use(await openNodeStore(proxy.through(url), { leaseMs: SHORT_MS }));
  opened.defer(() => proxy.drop());
  const blocking = await openClient(opened, url);
  await blocking.query("begin; lock table node");
  const lost = cut.node.sweep().catch((error: unknown) => error);
  const looking = `select from pg_locks where ${HERE} and locktype = 'relation' and not granted`;
  await poll("it to look", async () => ((await blocking.query(looking)).rowCount ?? 0) > 0 || null);
  proxy.hold();
  await blocking.query("rollback");
  const swept = await poll("another node to look", async () => {
    await other.node.renew(FIGURES);
    return other.node.sweep();
  });
  assert.deepEqual(swept.nodes, ["n"]);
  proxy.drop();
  assert.ok((await lost) instanceof Error);
});

test("a look for lost nodes that comes late gives nobody up", async () => {
  const url = await server.createDatabase();
  await using _one = await openNodeStore(url, { leaseMs: SHORT_MS });
  await using other = await openNodeStore(url, { leaseMs: SHORT_MS });
  await other.node.renew(FIGURES);
  await wait(SHORT_MS + 100);
  // As one that was sent before an outage, in which nobody could renew.
  assert.deepEqual((await other.node.sweep())?.nodes, []);
});

test("a unit that takes longer than a lease ends none", async () => {
  const url = await server.createDatabase();
  await using store = await openNodeStore(url, { leaseMs: SHORT_MS });
  const slow = sql`select pg_sleep(4)`;
  const begun = performance.now();
  const unit = store.commit([toStatement({ compile: () => slow.compile(store.rows) })]);
  let isOver = false;
  void unit.then(() => (isOver = true));
  await wait(100);
  assert.ok((await store.node.renew(FIGURES)).isMember);
  await wait(2500);
  assert.equal(store.awaySince, null, "the database is there");
  assert.ok(!isOver || performance.now() - begun > 4000, "it ends no sooner than it would");
  await unit;
});

test("nodes that start at once wait for each other, whatever isolation the database has", async () => {
  const url = await server.createDatabase();
  const name = new URL(url).pathname.slice(1);
  await query(url, `alter database "${name}" set default_transaction_isolation = 'serializable'`);
  const blocking = new pg.Client(url);
  await blocking.connect();
  await blocking.query(`begin; ${NODES_LOCK}`);
  const starting = [openNodeStore(url), openNodeStore(url)];
  const waiting = `select from pg_locks where ${HERE} and locktype = 'advisory' and not granted`;
  await poll("both to wait", async () => (await blocking.query(waiting)).rowCount === 2 || null);
  await blocking.end();
  const results = await Promise.allSettled(starting);
  for (const result of results)
    if (result.status === "fulfilled") await result.value[Symbol.asyncDispose]();
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "fulfilled"],
  );
});

test("a command changes no table of a node that runs an earlier version", async () => {
  const url = await server.createDatabase();
  await using opened = new AsyncDisposableStack();
  const node = opened.use(await openNodeStore(url));
  await query(
    url,
    "delete from migration where name = '0021-claims-and-failures'",
    "drop index execution_claim_expires_at, execution_failed_webhook, execution_failed_flow",
  );
  const beside = () =>
    openPostgresStore({
      ...OPTIONS,
      url,
      isBeside: true,
      node: { name: "", version: "0", leaseMs: LEASE_MS, folderId: "", folderPlace: "" },
    });
  const refusal = /earlier version, and its node "n" runs\. Restart the service with this version/;
  await assert.rejects(beside(), refusal);
  await node[Symbol.asyncDispose]();
  await (await beside())[Symbol.asyncDispose]();
  await using _restarted = await openNodeStore(url);
  await (await beside())[Symbol.asyncDispose]();
});

test("a start that changes tables under a node that works is tried again", async () => {
  const url = await server.createDatabase();
  await (await openNodeStore(url))[Symbol.asyncDispose]();
  await query(
    url,
    "delete from migration where name = '0021-claims-and-failures'",
    "drop index execution_claim_expires_at, execution_failed_webhook, execution_failed_flow",
  );
  const working = new pg.Client(url);
  await working.connect();
  // So that the start is the one that is given up.
  await working.query("set deadlock_timeout = '1h'; begin; lock execution in row exclusive mode");
  const started = openNodeStore(url);
  await poll("the start to wait", async () => {
    const text = `select from pg_locks where ${HERE} and not granted`;
    return (await working.query(text)).rowCount === 0 ? null : true;
  });
  await working.query("lock execution_claim in row exclusive mode; commit");
  await working.end();
  await using _store = await started;
});

test("who gives up what is locked leaves nothing at the server that waits for it", async () => {
  const url = await server.createDatabase();
  await using store = await openNodeStore(url);
  const blocking = new pg.Client(url);
  await blocking.connect();
  await blocking.query("begin; lock table node, webhook");
  const from = performance.now();
  const tried = await Promise.allSettled([
    store.node.renew(FIGURES),
    sql`select count(*) from webhook`.execute(store.rows),
    begin(store),
  ]);
  assert.ok(performance.now() - from < 8000, "once, within the time for an answer");
  // The count of nodes waits each second, for a moment.
  const waiting = `select from pg_locks where ${HERE} and not granted`;
  await poll("none", async () => (await blocking.query(waiting)).rowCount === 0 || null);
  await blocking.end();
  for (const one of tried)
    assert.equal(one.status === "rejected" && (one.reason as StoreError).kind, "unavailable");
});

test("units and what a node does for all wait for no lock of each other", async () => {
  const url = await server.createDatabase();
  await using opened = new AsyncDisposableStack();
  const store = opened.use(await openNodeStore(url));
  const locking = await openClient(opened, url);
  const commit = (table: string) => {
    const one = sql`delete from ${sql.table(table)} where false`;
    return store.commit([toStatement({ compile: () => one.compile(store.rows) })]);
  };
  await locking.query("begin; lock table audit");
  const units = Array.from({ length: 20 }, () => commit("audit"));
  const refused = assert.rejects(units[0] as Promise<unknown>, { code: "55P03" });
  for (const unit of units) unit.catch(() => {});
  const swept = await Promise.race([store.node.sweep(), refused]);
  assert.deepEqual(swept, { nodes: [], interrupted: [] });
  await refused;
  await locking.query("rollback; begin; lock table execution");
  await Promise.allSettled(units);
  const waiting = assert.rejects(store.node.listWaiting(), { code: "55P03" });
  await Promise.race([commit("audit"), waiting.then(() => assert.fail("the unit came later"))]);
  await waiting;
  await locking.query("rollback");
});

test("a start says what it waits for, where somebody keeps a lock, and goes on after it", async () => {
  const url = await server.createDatabase();
  await (await openNodeStore(url))[Symbol.asyncDispose]();
  await using opened = new AsyncDisposableStack();
  for (const table of ["migration", "node"]) {
    const locking = await openClient(opened, url);
    await locking.query(`begin; lock table ${table}`);
    const told = Promise.withResolvers<string>();
    const node = {
      name: "n",
      version: "0",
      leaseMs: LEASE_MS,
      folderId: newId(),
      folderPlace: "1:1",
    };
    const starting = openPostgresStore({ ...OPTIONS, url, node, tell: told.resolve });
    starting.catch(told.reject);
    assert.match(await told.promise, /keeps a lock on a table of the database .*: waiting for it$/);
    await locking.query("rollback");
    await (await starting)[Symbol.asyncDispose]();
  }
});

test("what is large is written and read over a slow network too", async () => {
  await using opened = new AsyncDisposableStack();
  const { proxy, store } = await openThrough(opened);
  proxy.slow(300_000);
  const id = await begin(store, null, JSON.stringify("x".repeat(4_000_000)));
  assert.ok((await findExecution(store, id)) !== undefined);
  assert.equal((await findInput(store, id))?.input_value.length, 4_000_002);
  await start(store, id);
  assert.equal(await end(store, id, JSON.stringify("字".repeat(700_000))), "applied");
});

/** A connection whose other end has got part of a statement, and waits for the rest. */
const PARTLY = `select from pg_stat_activity where datname = current_database()
  and state = 'active' and wait_event = 'ClientRead'`;

test("who is cut off while something large is sent lets go of what is locked", async () => {
  const url = await server.createDatabase();
  const proxy = await openFaultProxy(url);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => proxy.close());
  const watching = new pg.Client(url);
  const sender = new pg.Client(proxy.through(url));
  await Promise.all([watching.connect(), sender.connect()]);
  opened.defer(() => watching.end());
  sender.on("error", () => {});
  proxy.slow(100_000);
  const sent = transact(
    sender,
    async () => {
      await sender.query("select pg_advisory_xact_lock(1)");
      return sender.query("select length($1)", ["x".repeat(1_000_000)]);
    },
    toLimits(sendingMs([1_000_000])),
  ).catch((error: unknown) => error);
  await poll("some of it to be there", async () => (await watching.query(PARTLY)).rowCount || null);
  proxy.strand();
  await poll("its lock", async () => {
    const { rows } = await watching.query("select pg_try_advisory_lock(1) as locked");
    return (rows as { locked: boolean }[])[0]?.locked === true ? true : null;
  });
  proxy.drop();
  assert.ok((await sent) instanceof Error);
});

test("a unit whose connection dies while it is sent ends, and the next one is done", async () => {
  await using opened = new AsyncDisposableStack();
  const { url, proxy, store } = await openThrough(opened);
  const watching = await openClient(opened, url);
  const commit = (text: string) => {
    const length = sql`select length(${text})`;
    return store.commit([toStatement({ compile: () => length.compile(store.rows) })]);
  };
  proxy.slow(300_000);
  const lost = assert.rejects(commit("x".repeat(1_000_000)), { kind: "unavailable" });
  await poll("some of it to be there", async () => (await watching.query(PARTLY)).rowCount || null);
  proxy.strand();
  await lost;
  assert.deepEqual(await commit("x"), [1]);
});

test("a unit that takes long ends also where the server does not tell what it does", async () => {
  const url = await server.createDatabase();
  await query(url, `alter database ${new URL(url).pathname.slice(1)} set track_activities = off`);
  await using store = await openNodeStore(url);
  const slow = sql`select pg_sleep(8)`;
  const unit = store.commit([toStatement({ compile: () => slow.compile(store.rows) })]);
  assert.deepEqual(await unit, [1]);
});

test("a connection that is lost while it is read from costs what was read alone", async () => {
  await using opened = new AsyncDisposableStack();
  const { url, proxy, store } = await openThrough(opened);
  const watching = await openClient(opened, url);
  const slow = "select from pg_stat_activity where query like 'select pg_sleep%'";
  for (const reads of [store.rows, store.lists]) {
    const lost = assert.rejects(sql`select pg_sleep(60)`.execute(reads), { kind: "unavailable" });
    await poll("it to be read", async () => (await watching.query(slow)).rowCount || null);
    proxy.drop();
    await lost;
    proxy.open();
    await sql`select 1`.execute(reads);
    await watching.query(
      `select pg_terminate_backend(pid) from (${slow.replace("from", "pid from")})`,
    );
  }
});

test("reads on connections that are dead, and tell nobody, are done on others", async () => {
  await using opened = new AsyncDisposableStack();
  const { proxy, store } = await openThrough(opened);
  const read = (reads: Store["rows"]) => sql`select pg_sleep(0.1)`.execute(reads);
  const all = [store.rows, store.rows, store.lists, store.lists];
  await Promise.all(all.map(read));
  proxy.strand();
  await wait(1100);
  const from = performance.now();
  for (const reads of all) await read(reads);
  assert.ok(performance.now() - from < 4500, "none has waited for its connection's end");
});

test("a unit on a connection that is dead, and tells nobody, ends, and the next one is done", async () => {
  await using opened = new AsyncDisposableStack();
  const { proxy, store } = await openThrough(opened);
  const one = sql`select 1`;
  const commit = () => store.commit([toStatement({ compile: () => one.compile(store.rows) })]);
  await commit();
  proxy.strand();
  await assert.rejects(commit(), { kind: "unavailable" });
  assert.deepEqual(await commit(), [1]);
});

test("who waits for another's first start goes on after it, and is told where the way is dead", async () => {
  await using opened = new AsyncDisposableStack();
  const { url, proxy, store } = await openThrough(opened);
  const watching = await openClient(opened, url);
  const other = opened.use(await openNodeStore(url));
  const asking = `select from pg_stat_activity where datname = current_database()
    and state = 'idle in transaction' and query like '%pg_try_advisory_xact_lock%'`;
  for (const cut of [false, true]) {
    const held = await other.shared?.hold("firstStart", false);
    const waiting = store.shared?.hold("firstStart", true) ?? Promise.resolve(null);
    waiting.catch(() => {});
    await poll("both", async () => (await watching.query(asking)).rowCount === 2 || null);
    if (cut) proxy.strand();
    await held?.[Symbol.asyncDispose]();
    if (cut) await assert.rejects(waiting, { kind: "unavailable" });
    else await (await waiting)?.[Symbol.asyncDispose]();
  }
});

test("a start whose connection dies in silence is over soon", async () => {
  const url = await server.createDatabase();
  const proxy = await openFaultProxy(url);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => proxy.close());
  opened.defer(() => proxy.drop());
  const blocking = await openClient(opened, url);
  await openNodeStore(url).then((store) => store[Symbol.asyncDispose]());
  await blocking.query("begin; lock table migration");
  const starting = openNodeStore(proxy.through(url)).catch((error: unknown) => error);
  const looking = `select from pg_locks where ${HERE} and locktype = 'relation' and not granted`;
  await poll("it to look", async () => ((await blocking.query(looking)).rowCount ?? 0) > 0 || null);
  proxy.strand();
  await blocking.query("rollback");
  assert.match(String(await starting), /Cannot open the database/);
});

const NOT_STARTED = "not started: the database was away when it was recorded";

test("a begin that was refused and is there waits, where others may have told of it", async () => {
  await using opened = new AsyncDisposableStack();
  const url = await server.createDatabase();
  const store = opened.use(await openNodeStore(url));
  const client = await openClient(opened, url);
  const claim = { hash: "key", fingerprint: null, expires_at: 1e15 };
  const [told, plain] = [newBegin([claim]), newBegin()];
  for (const record of [told, plain]) {
    assert.equal(await append(store, record, "1"), "applied");
    assert.equal(await start(store, record.row.id), "applied");
  }
  const unknown = new UnknownBegins();
  const entries = [told, plain].map((record) => ({ record, text: "1" }));
  unknown.add(entries, new Set([store.node.id]));
  await unknown.settle(client);
  const read = async ({ row }: BeginRecord) => (await findExecution(store, row.id))?.status;
  assert.deepEqual([await read(told), await read(plain)], ["PENDING", "ENDED_ERROR"]);
  assert.equal((await findClaim(store, "key", 1))?.id, told.row.id);
  assert.deepEqual(
    (await store.node.take(ALL)).map(({ id }) => id),
    [told.row.id],
    "whoever has room runs it",
  );
});

test("the thread of the store has the clock of all nodes", async () => {
  await using store = await openNodeStore(await server.createDatabase());
  const ahead = 3_600_000;
  store.node.correctClock(-ahead);
  const claim = { hash: "key", fingerprint: null, expires_at: Date.now() - ahead + 60_000 };
  const [first, second] = [newBegin([claim]), newBegin([claim])];
  assert.equal(await append(store, first, "1"), "applied");
  await assert.rejects(append(store, second, "1"), { code: "claimed" }, "it has not expired");
});

test("what names a version stays where that is, while its node lives", async () => {
  await using opened = new AsyncDisposableStack();
  const url = await server.createDatabase();
  const client = await openClient(opened, url);
  const other = opened.use(await openNodeStore(url));
  const store = opened.use(await openNodeStore(url));
  const { row, ...begun } = newBegin();
  const { flow } = row;
  await append(store, { ...begun, row: { ...row, flow_version: "1" } }, "1");
  const take = async (
    version: string,
    isFetching: boolean,
    waitingSince: number | null,
    broken: readonly string[] = [],
  ) => {
    const room = [{ flow, count: 9, version, isFetching, broken }];
    const taken = await other.node.take({ room, waitingSince, busyWebhooks: [] });
    await client.query("update execution set node_id = $1", [store.node.id]);
    return taken.length;
  };
  const late = Number.MAX_SAFE_INTEGER;
  assert.deepEqual([await take("other", true, late), await take("1", false, late)], [0, 1]);
  await client.query("insert into flow_version values ($1, '1', 'f.ts', '[]', '', 0)", [flow]);
  assert.deepEqual([await take("other", false, late), await take("other", true, late)], [0, 1]);
  assert.equal(await take("other", true, late, ["0", "1"]), 0, "it cannot run here");
  await client.query("delete from node where id = $1", [store.node.id]);
  assert.equal(await take("other", false, null), 1, "its node is lost");
});

test("who joins is one of the others within seconds, however long a lease is", async () => {
  const url = await server.createDatabase();
  await using store = await openNodeStore(url);
  await store.node.renew(FIGURES);
  assert.equal(store.node.others, 0);
  await using _other = await openNodeStore(url);
  await poll("it to be seen", async () => (store.node.others === 1 ? true : null));
});

test("a statement that arrives late puts back nothing that was started after it", async () => {
  await using store = await openNodeStore(await server.createDatabase());
  const id = await begin(store);
  const waits = { kind: "wait", ids: [id], at: 7 } as const;
  await start(store, id, 7);
  await append(store, waits);
  assert.equal((await findExecution(store, id))?.status, "PENDING");
  assert.equal(await start(store, id, 8), "applied");
  await append(store, waits);
  const late = await findExecution(store, id);
  assert.deepEqual([late?.status, late?.started_at], ["RUNNING", 8], "it runs, and would again");
  assert.equal(await start(store, id, 7), `overtaken ${id}`);
  assert.equal((await findExecution(store, id))?.started_at, 8);
  assert.equal(await end(store, id), "applied");
});

test("what waits again and is started in one batch is started, though the answer was lost", async () => {
  await using store = await openNodeStore(await server.createDatabase());
  const id = await begin(store);
  await start(store, id, 7);
  const both = () =>
    Promise.all([append(store, { kind: "wait", ids: [id], at: 7 }), start(store, id, 8)]);
  assert.deepEqual(await both(), ["applied", "applied"]);
  assert.deepEqual(await both(), ["applied", "applied"]);
  assert.equal((await findExecution(store, id))?.started_at, 8);
});

test("lines of a log are written once, though the answer to their batch was lost", async () => {
  await using opened = new AsyncDisposableStack();
  const { url, proxy, store } = await openThrough(opened);
  const client = await openClient(opened, url);
  const ids = [await begin(store), await begin(store)];
  const log = (id: string | undefined, ...texts: readonly string[]) =>
    append(store, {
      kind: "log",
      id: id ?? "",
      lines: texts.map((text) => ({ at: 1, level: "info" as const, text })),
    });
  const read = async () => {
    const { rows } = await client.query<{ text: string }>(
      "select text from execution_log order by seq",
    );
    return rows.map(({ text }) => text);
  };
  await log(ids[0], "first");
  proxy.holdAnswers();
  const unanswered = Promise.all([log(ids[0], "second", "third"), log(ids[1], "other")]);
  await poll("them to be written", async () => ((await read()).length === 4 ? true : null));
  proxy.drop();
  proxy.open();
  await unanswered;
  assert.deepEqual(await read(), ["first", "second", "third", "other"]);
  proxy.hold();
  const undelivered = log(ids[0], "fourth");
  proxy.drop();
  proxy.open();
  await undelivered;
  assert.equal((await read()).at(-1), "fourth");
});

test("a begin whose commit comes after the caller was refused records nothing", async () => {
  const url = await server.createDatabase();
  await using store = await openNodeStore(url);
  const id = await begin(store);
  await query(
    url,
    `create function slow() returns trigger language plpgsql as
      $$ begin perform pg_sleep(8); return null; end $$`,
    `create constraint trigger slow after insert on execution deferrable initially deferred
      for each row when (new.webhook_id = 'slow') execute function slow()`,
  );
  await assert.rejects(begin(store, "slow"), { kind: "unavailable" });
  await begin(store);
  await wait(4000);
  const rows = await store.rows.selectFrom("execution").select(["id", "webhook_id"]).execute();
  assert.equal(rows.length, 2);
  assert.ok(rows.some((row) => row.id === id));
});

test("a begin that was refused and is there ends, though its node was given up meanwhile", async () => {
  const url = await server.createDatabase();
  const proxy = await openFaultProxy(url);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => proxy.close());
  await using other = await openNodeStore(url);
  await using store = await openNodeStore(proxy.through(url), { leaseMs: SHORT_MS });
  await begin(store);
  proxy.holdAnswers();
  const refused = assert.rejects(begin(store, "w"), { kind: "unavailable" });
  const rows = await poll("it to be recorded", async () => {
    const found = await findOf(other, "w");
    return found.length > 0 ? found : null;
  });
  proxy.hold();
  await refused;
  await other.node.renew(FIGURES);
  assert.deepEqual((await other.node.sweep())?.nodes, ["n"]);
  assert.equal(rows[0]?.status, "PENDING");
  proxy.open();
  await poll("the node to be one again", () =>
    store.node.rejoin().then(
      () => true,
      () => null,
    ),
  );
  assert.equal(await start(store, await begin(store)), "applied");
  await poll("it to end", async () => {
    const [row] = await findOf(other, "w");
    return row?.status_message === NOT_STARTED ? true : null;
  });
});

function findOf(store: Store, webhook_id: string) {
  const query = store.rows.selectFrom("execution").select(["id", "status", "status_message"]);
  return query.where("webhook_id", "=", webhook_id).execute();
}

test("one that was begun before its node was given up, and is another's, is not begun again", async () => {
  const url = await server.createDatabase();
  await using store = await openNodeStore(url, { leaseMs: SHORT_MS });
  await using other = await openNodeStore(url);
  const { input_value: _, ...input } = INPUT;
  const waiting = { status: "PENDING", started_at: null, ended_at: null } as const;
  const record = { kind: "begin", row: newRow(newExecutionId(), waiting), input, month: null };
  const again = () => append(store, record as LedgerRecord, "1");
  assert.equal(await again(), "applied");
  assert.equal(await again(), "applied", "its answer was lost");
  await wait(SHORT_MS + 100);
  await other.node.renew(FIGURES);
  await other.node.sweep();
  await store.node.rejoin();
  assert.equal(await again(), `overtaken ${record.row.id}`);
});
