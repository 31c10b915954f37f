import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { sql } from "kysely";
import { ActiveExecution } from "../../src/server/executions/active.ts";
import { openAllowance } from "../../src/server/executions/allowance.ts";
import { Elsewhere } from "../../src/server/executions/elsewhere.ts";
import { Executions, type ExecutionsOptions } from "../../src/server/executions/executions.ts";
import { Overflow } from "../../src/server/executions/overflow.ts";
import { Pickup } from "../../src/server/executions/pickup.ts";
import { now } from "../../src/shared/clock.ts";
import { newExecutionId, newId } from "../../src/shared/id.ts";
import { openLog } from "../../src/shared/log.ts";
import type { FlowSpec, Job } from "../../src/shared/wire/protocol.ts";
import { Worker } from "../../src/server/workers/worker.ts";
import type { StoreNode } from "../../src/server/store/node.ts";
import { toStatement } from "../../src/server/store/prepared.ts";
import { openPostgresStore } from "../../src/server/store/postgres/store.ts";
import type { Store } from "../../src/server/store/store.ts";
import { poll } from "../blackbox/scenario.ts";
import { findExecution } from "../../src/server/store/executions.ts";
import { openFaultProxy } from "../fault-proxy.ts";
import { openPostgres } from "../postgres-server.ts";
import { newRow } from "../store/rows.ts";
import { POSTGRES_THREAD } from "../store/postgres-thread.ts";

/** What becomes of executions of which another node has, or seems to have, some. */

const LOG = openLog({ level: "silent", format: "json" });
const SPEC: FlowSpec = {
  key: "f@1",
  flow: "f",
  version: "1",
  grants: { net: false, read: [], write: [], secrets: [] },
  directory: "/",
  entry: "/flow.ts",
  plugins_dir: "/",
  isolation: "flow",
  memory_mb: 64,
  stripped: {},
  input_members: null,
};
const FLOW = { spec: SPEC, timeoutMs: 1e6 };
const WEBHOOK = { id: "w", name: "w", limits: null };

const server = await openPostgres();
after(() => server.stop());

type NodeStore = Store & { readonly node: StoreNode };

async function openNodeStore(url: string): Promise<NodeStore> {
  const node = { name: "n", version: "0", leaseMs: 60_000, folderId: newId(), folderPlace: "1:1" };
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

/** Without threads: nothing of it begins. */
async function openExecutions(
  store: Store,
  more: Partial<ExecutionsOptions> = {},
): Promise<Executions> {
  return new Executions({
    store,
    log: LOG,
    workerThreads: 4,
    flowMaxConcurrent: 4,
    warmThreads: 0,
    cancelGraceMs: 100,
    maxQueued: 100,
    allowance: await openAllowance(store, null),
    baseUrl: "http://flowhook",
    onlooker: null,
    lease: null,
    limits: { max_output_bytes: 1e6, sandboxed: false },
    reportEnding: () => {},
    judgeLarge: () => Promise.reject(new Error("Nothing ends")),
    operate: () => Promise.reject(new Error("Nothing begins")),
    startWorker() {
      throw new Error("Nothing begins");
    },
    ...more,
  });
}

function start(
  executions: Executions,
  limits: string | null = null,
  modified_at = 1,
): Promise<ActiveExecution> {
  return executions.start({
    flowName: "f",
    flow: FLOW,
    webhook: { ...WEBHOOK, limits, modified_at },
    input: { input_value: "1", raw_body: null, raw_body_at: null, target: null },
    is_productive: true,
    is_async: true,
    project_id: "p",
    role_id: null,
    acts_for: null,
    created_by: null,
    parent_id: null,
    replay_of: null,
    isConnection: false,
  });
}

const ALL = {
  room: [{ flow: "f", count: 9, version: null, isFetching: false, broken: [] }],
  waitingSince: Number.MAX_SAFE_INTEGER,
  busyWebhooks: [],
};

/** As what another node runs, to its end. */
async function runOn(store: Store, id: string): Promise<void> {
  const ending = { status: "ENDED_SUCCESS", status_message: null, ended_at: 9 } as const;
  for (const record of [
    { kind: "start", ids: [id], at: 7 },
    { kind: "end", id, ...ending, response: null },
  ] as const)
    await new Promise<void>((resolve, reject) =>
      store.ledger.append(record, record.kind === "end" ? "2" : null, {
        applied: resolve,
        overtaken: reject,
        failed: reject,
      }),
    );
}

function pickUp(store: NodeStore, executions: Executions, node: StoreNode): Pickup {
  const findFlow = async () => FLOW;
  const findServing = () => ({ version: null, isFetching: false, broken: [] });
  return new Pickup({ store, node, executions, log: LOG, findFlow, findServing });
}

/** The node, but for these acts. */
function withActs(node: StoreNode, acts: Partial<StoreNode>): StoreNode {
  return {
    ...acts,
    id: node.id,
    name: node.name,
    others: 1,
    renew: (figures) => node.renew(figures),
    correctClock: (behindMs) => node.correctClock(behindMs),
    rejoin: () => node.rejoin(),
    sweep: () => node.sweep(),
    tellAwaited: (ids, left) => node.tellAwaited(ids, left),
    tellWaiting: acts.tellWaiting ?? (() => node.tellWaiting()),
    onWaiting: (act) => node.onWaiting(act),
    isAwaited: (id) => node.isAwaited(id),
    endUnserved: (flows) => node.endUnserved(flows),
    listLost: acts.listLost ?? ((ids) => node.listLost(ids)),
    listWaiting: acts.listWaiting ?? (() => node.listWaiting()),
    take: acts.take ?? ((wanted) => node.take(wanted)),
    listStartable: (webhooks) => node.listStartable(webhooks),
  };
}

test("what is recorded after its node was given up stays the node's", async () => {
  const url = await server.createDatabase();
  const proxy = await openFaultProxy(url);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => proxy.close());
  await using store = await openNodeStore(proxy.through(url));
  const executions = await openExecutions(store);
  // It is not recorded before it is left, however long this process pauses.
  proxy.hold();
  const starting = start(executions);
  await turn();
  executions.share.leaveAll();
  proxy.open();
  const { id } = await starting;
  assert.deepEqual(
    executions.share.listUndecided(),
    [id],
    "nobody else takes it while this node lives",
  );
  executions.share.leaveAll();
  assert.deepEqual(executions.share.listUndecided(), []);
});

test("one that was to be replaced, and that another node has, ends as it ends there", async () => {
  const url = await server.createDatabase();
  await using store = await openNodeStore(url);
  await using other = await openNodeStore(url);
  const executions = await openExecutions(store);
  const limits = JSON.stringify({ max_concurrent: 1, when_busy: "replace", max_queued: null });
  const first = await start(executions, limits);
  assert.equal((await other.node.take(ALL)).length, 1);
  const second = await start(executions, limits);
  assert.equal(first.isElsewhere, true);
  assert.deepEqual(executions.share.listUndecided(), [second.id]);
  await runOn(other, first.id);
  assert.equal((await first.ended).status, "ENDED_SUCCESS");
});

test("a cancel of what is being replaced waits for it, and holds where it was not replaced", async () => {
  const url = await server.createDatabase();
  const proxy = await openFaultProxy(url);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => proxy.close());
  await using store = await openNodeStore(proxy.through(url));
  const executions = await openExecutions(store);
  const limits = JSON.stringify({ max_concurrent: 1, when_busy: "replace", max_queued: null });
  const first = await start(executions, limits);
  proxy.hold();
  const starting = start(executions, limits);
  await turn();
  assert.equal(first.decided?.status, "ENDED_CANCELLED");
  const late = executions.cancel(first.id, "no more");
  proxy.open();
  const second = await starting;
  assert.deepEqual(
    [await late, (await first.ended).status_message],
    [false, `Replaced by ${second.id}`],
  );
  proxy.drop();
  const refused = assert.rejects(start(executions, limits), { code: "store_unavailable" });
  await turn();
  const early = executions.cancel(second.id, "no more");
  const known = executions.whenKnown(second.id, (found) => found?.decided?.status_message);
  await refused;
  proxy.open();
  assert.doesNotMatch((await known) ?? "", /^Replaced/);
  assert.deepEqual([await early, (await second.ended).status_message], [true, "no more"]);
});

test("who stood still begins nothing before it is known that it is one of the nodes", async () => {
  await using store = await openNodeStore(await server.createDatabase());
  const given: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  let renewal: Promise<void> | null = promise;
  const lease = { renewal: () => renewal };
  const executions = await openExecutions(store, {
    lease,
    startWorker(spec, events) {
      const run = (jobs: readonly Job[]) => void given.push(...jobs.map(({ id }) => id));
      const line = { run, recall() {}, abort() {}, answer() {}, end() {} };
      const worker = new Worker(spec, line, events);
      setImmediate(() => worker.started());
      return worker;
    },
  });
  executions.open();
  const { id } = await start(executions);
  await poll("it to be recorded", async () =>
    (await findExecution(store, id))?.status === "RUNNING" ? true : null,
  );
  executions.share.leaveAll();
  renewal = null;
  resolve();
  const next = await start(executions);
  await poll("the next to begin", async () => given[0] ?? null);
  assert.deepEqual(given, [next.id]);
});

test("limits that another node has changed hold with the next call", async () => {
  await using store = await openNodeStore(await server.createDatabase());
  const executions = await openExecutions(store);
  const limits = JSON.stringify({ max_concurrent: 1, when_busy: "refuse", max_queued: null });
  await start(executions, limits);
  await assert.rejects(start(executions, limits), { code: "webhook_busy" });
  await start(executions, null, 2);
  await start(executions, limits, 1);
  await assert.rejects(start(executions, limits, 3), { code: "webhook_busy" });
});

test("what was taken though the answer was lost is found", async () => {
  const url = await server.createDatabase();
  await using store = await openNodeStore(url);
  const other = await openNodeStore(url);
  const { id } = await start(await openExecutions(other));
  await other[Symbol.asyncDispose]();
  const executions = await openExecutions(store);
  let tries = 0;
  const node = withActs(store.node, {
    async take(wanted) {
      const taken = await store.node.take(wanted);
      tries += 1;
      if (tries === 1) throw new Error("The connection was lost");
      return taken;
    },
  });
  await using _pickup = pickUp(store, executions, node);
  await poll("it to be found", async () => (executions.find(id) === undefined ? null : true));
});

test("what comes back before its node knew that it was away is queued once", async () => {
  const url = await server.createDatabase();
  await using store = await openNodeStore(url);
  await using other = await openNodeStore(url);
  const executions = await openExecutions(store);
  await start(executions);
  await other.node.take(ALL);
  const back = Promise.withResolvers<void>();
  const node = withActs(store.node, {
    listLost: async () => [],
    async take(wanted) {
      const taken = await store.node.take({ ...wanted, waitingSince: Number.MAX_SAFE_INTEGER });
      if (taken.length > 0) setImmediate(back.resolve);
      return taken;
    },
  });
  await using _pickup = pickUp(store, executions, node);
  await back.promise;
  assert.equal(executions.counts().waiting, 1);
});

test("a node that stops takes nothing", async () => {
  const url = await server.createDatabase();
  await using store = await openNodeStore(url);
  const other = await openNodeStore(url);
  await start(await openExecutions(other));
  await other[Symbol.asyncDispose]();
  const executions = await openExecutions(store);
  await executions.drain(0);
  const acts = { polls: 0, takes: 0 };
  const node = withActs(store.node, {
    take(wanted) {
      acts.takes += 1;
      return store.node.take(wanted);
    },
    listWaiting() {
      acts.polls += 1;
      return store.node.listWaiting();
    },
  });
  await using _pickup = pickUp(store, executions, node);
  await poll("some polls", async () => (acts.polls > 2 ? true : null));
  assert.equal(acts.takes, 0);
});

test("what a node cannot run is taken at once by one with free threads, and left to it", async () => {
  const url = await server.createDatabase();
  await using store = await openNodeStore(url);
  await using other = await openNodeStore(url);
  await other.node.renew({ state: "ready", running: 0, waiting: 0 });
  const theirs = await openExecutions(other);
  const executions = await openExecutions(store);
  const first = Promise.withResolvers<{ waitingSince: number | null; takenAt: number }>();
  const node = withActs(store.node, {
    async take(wanted) {
      const taken = await store.node.take(wanted);
      if (taken.length > 0) first.resolve({ ...wanted, takenAt: now() });
      return taken;
    },
  });
  await using _pickup = pickUp(store, executions, node);
  const begun = now();
  const started = await Promise.all(Array.from({ length: 5 }, () => start(theirs)));
  const { waitingSince, takenAt } = await first.promise;
  // What has waited for a second is taken without being told of: where this process paused.
  const isLate = takenAt - begun > 1000;
  assert.ok(
    waitingSince !== null && (waitingSince > takenAt || isLate),
    "however short it has waited",
  );
  await poll("what was taken to be left", async () => {
    const taken = executions.share.listUndecided().length;
    return taken > 0 && taken + theirs.share.listUndecided().length === 5 ? true : null;
  });
  const left = started.filter(({ isElsewhere }) => isElsewhere).map(({ id }) => id);
  assert.deepEqual(executions.share.listUndecided().toSorted(), left.toSorted());
  assert.ok(left.length >= 1 && left.length <= 3, `${left.length} of 3 free threads`);
});

test("a node tells while something waits that it cannot run, and ever less often", async () => {
  await using store = await openNodeStore(await server.createDatabase());
  const waiting = new ActiveExecution(newRow(newExecutionId()), FLOW, null);
  const told: number[] = [];
  const fourth = Promise.withResolvers<void>();
  let queued = [waiting];
  const node = withActs(store.node, {
    async tellWaiting() {
      told.push(performance.now());
      if (told.length === 4) fourth.resolve();
    },
  });
  const asked = Promise.withResolvers<void>();
  const listQueued = (): ActiveExecution[] => {
    if (queued.length === 0) setImmediate(asked.resolve);
    return queued;
  };
  const overflow = new Overflow(node, { listQueued, leave: () => {} });
  waiting.since = performance.now();
  overflow.queued();
  overflow.queued();
  await fourth.promise;
  const times = [waiting.since, ...told];
  for (const [place, ms] of [20, 20, 40, 80].entries())
    assert.ok(times[place + 1]! - times[place]! >= ms - 1, `pause ${place} of ${times.join()}`);
  queued = [];
  await asked.promise;
  await turn();
  assert.equal(told.length, 4);
  const again = new ActiveExecution(newRow(newExecutionId()), FLOW, null);
  queued = [again];
  again.since = performance.now();
  overflow.queued();
  await poll("it to tell again", async () => (told.length > 4 ? true : null));
  queued = [];
});

test("all that wait for executions of other nodes are told, however many", async () => {
  await using store = await openNodeStore(await server.createDatabase());
  const elsewhere = new Elsewhere(store, LOG);
  const row = newRow(newExecutionId());
  const twice = [new ActiveExecution(row, FLOW, null), new ActiveExecution(row, FLOW, null)];
  const others = Array.from(
    { length: 40_000 },
    () => new ActiveExecution(newRow(newExecutionId()), FLOW, null),
  );
  for (const execution of [...twice, ...others]) elsewhere.await(execution);
  await Promise.all([...twice, ...others].map(({ ended }) => ended));
});

test("a cancel that cannot be written says so, and what nobody waits for is cancelled later", async () => {
  const url = await server.createDatabase();
  const proxy = await openFaultProxy(url);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => proxy.close());
  await using other = await openNodeStore(url);
  await using store = await openNodeStore(proxy.through(url));
  const theirs = await openExecutions(other);
  const executions = await openExecutions(store);
  const [first, second] = [await start(theirs), await start(theirs)];
  assert.equal((await findExecution(store, first.id))?.node, "n");
  for (const { row } of [first, second]) assert.ok(executions.findAnywhere(row));
  proxy.drop();
  await assert.rejects(executions.cancel(first.id, "no more"), { kind: "unavailable" });
  executions.cancelAlone(second.id, "left");
  proxy.open();
  await poll("the second to be cancelled", async () =>
    (await findExecution(other, second.id))?.status === "ENDED_CANCELLED" ? true : null,
  );
  assert.equal((await findExecution(other, first.id))?.status, "PENDING");
  await executions.cancel(first.id, "no more");
  assert.equal((await findExecution(other, first.id))?.status_message, "no more");
});

test("what nobody waits for any more is looked for no more", async () => {
  const url = await server.createDatabase();
  await using store = await openNodeStore(url);
  await using other = await openNodeStore(url);
  const theirs = await openExecutions(other);
  const elsewhere = new Elsewhere(store, LOG, 300);
  const [wanted, left] = [await start(theirs), await start(theirs)].map(({ row }) =>
    elsewhere.find(row),
  );
  assert.ok(wanted !== undefined && left !== undefined);
  wanted.watchers += 1;
  await poll("one to be forgotten", async () => (elsewhere.size === 1 ? true : null));
  const ended = await start(theirs);
  await runOn(other, ended.id);
  assert.ok(elsewhere.find(ended.row));
  assert.equal(await elsewhere.cancel(ended.id, "too late"), false, "it had ended");
  await poll("its ending", async () => (elsewhere.size === 1 ? true : null));
  await runOn(other, wanted.id);
  assert.equal((await wanted.ended).status, "ENDED_SUCCESS");
  assert.equal(elsewhere.size, 0);
  assert.notEqual(elsewhere.find(left.row), left, "whoever asks again is told");
});

test("what waits for a flow that no node has ends after a time, and what a node has does not", async () => {
  const url = await server.createDatabase();
  await using store = await openNodeStore(url);
  await using other = await openNodeStore(url);
  const lost = await openNodeStore(url);
  const { id } = await start(await openExecutions(lost));
  await lost[Symbol.asyncDispose]();
  const offer = (query: string) => {
    const text = sql.raw(query);
    return other.commit([toStatement({ compile: () => text.compile(other.rows) })]);
  };
  await offer("insert into flow_version values ('f', '1', 'f.ts', '[]', '', 0)");
  await offer(`insert into node_flow values ('x', 'f', '1', null, '${other.node.id}', 'n', 0, '')`);
  const asked = Promise.withResolvers<void>();
  const node: StoreNode = {
    ...withActs(store.node, {}),
    async endUnserved(flows) {
      const ended = await store.node.endUnserved(flows);
      asked.resolve();
      return ended;
    },
  };
  const executions = await openExecutions(store);
  const options = { store, node, executions, log: LOG, findFlow: async () => FLOW };
  await using _pickup = new Pickup({ ...options, findServing: () => null, unservedMs: 300 });
  await asked.promise;
  assert.equal((await findExecution(store, id))?.status, "PENDING", "a node that lives has it");
  const borrowed = await start(await openExecutions(other));
  await offer("delete from node_flow");
  assert.equal(await store.node.endUnserved(["f"]), 0, "a node that lives runs what it borrowed");
  await runOn(other, borrowed.id);
  await poll("it to end", async () => {
    const row = await findExecution(store, id);
    return row?.status === "ENDED_ERROR"
      ? /no node has had its flow/.test(row.status_message!)
      : null;
  });
});
