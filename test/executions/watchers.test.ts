import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { ActiveExecution } from "../../src/server/executions/active.ts";
import { decide } from "../../src/server/executions/outcome.ts";
import { Watchers } from "../../src/server/executions/watchers.ts";
import { newExecutionId, newId } from "../../src/shared/id.ts";
import { openPostgresStore } from "../../src/server/store/postgres/store.ts";
import type { StoreNode } from "../../src/server/store/node.ts";
import { poll } from "../blackbox/scenario.ts";
import { openFaultProxy } from "../fault-proxy.ts";
import { openPostgres } from "../postgres-server.ts";
import { newRow } from "../store/rows.ts";
import { POSTGRES_THREAD } from "../store/postgres-thread.ts";

/** Who waits on an execution at which of two nodes, and what the other one knows of it. */

const FIGURES = { state: "ready", running: 0, waiting: 0 } as const;

const server = await openPostgres();
after(() => server.stop());

async function openNode(stack: AsyncDisposableStack, url: string): Promise<StoreNode> {
  const node = { name: "n", version: "0", leaseMs: 60_000, folderId: newId(), folderPlace: "1:1" };
  const options = {
    url,
    durability: "normal",
    connections: 8,
    thread: POSTGRES_THREAD,
    name: "t",
  } as const;
  const store = stack.use(await openPostgresStore({ ...options, node }));
  assert.ok(store.node !== null);
  return store.node;
}

/** Two nodes that know of each other; what goes to the database from the second can be held. */
async function openBoth(stack: AsyncDisposableStack) {
  const url = await server.createDatabase();
  const proxy = await openFaultProxy(url);
  stack.defer(() => proxy.close());
  const client = new pg.Client(url);
  await client.connect();
  stack.defer(() => client.end());
  const here = await openNode(stack, url);
  const there = await openNode(stack, proxy.through(url));
  for (const node of [here, there]) await node.renew(FIGURES);
  assert.deepEqual([here.others, there.others], [1, 1]);
  const told = async (): Promise<number> =>
    (await client.query("select from awaited")).rowCount ?? 0;
  return { here, there, proxy, client, told };
}

function newOne(): ActiveExecution {
  return new ActiveExecution(newRow(newExecutionId(), {}), undefined, null);
}

const asks = (node: StoreNode, { id }: ActiveExecution) => node.isAwaited(id);

test("that somebody waits is known at the other node until nobody does", async () => {
  await using stack = new AsyncDisposableStack();
  const { here, there, told } = await openBoth(stack);
  const [watchers, one] = [new Watchers(there), newOne()];
  watchers.add(one);
  watchers.add(one);
  await poll("it to be known", async () => (await asks(here, one)) || null);
  assert.equal(await asks(there, one), false, "of others");
  watchers.delete(one);
  await wait(600);
  assert.equal(await asks(here, one), true, "one still waits");
  watchers.delete(one);
  await poll("it to be taken back", async () => (await told()) === 0 || null);
  assert.equal(await asks(here, one), false);
});

test("two who have found it by themselves are two", async () => {
  await using stack = new AsyncDisposableStack();
  const { here, there, told } = await openBoth(stack);
  const [watchers, one] = [new Watchers(there), newOne()];
  const again = new ActiveExecution(one.row, undefined, null);
  for (const found of [one, again]) watchers.add(found);
  await poll("it to be known", async () => (await asks(here, one)) || null);
  watchers.delete(one);
  await wait(600);
  assert.equal(await asks(here, one), true, "one still waits");
  watchers.delete(again);
  await poll("it to be taken back", async () => (await told()) === 0 || null);
});

test("it is known while its node stands still, and no more once that is lost", async () => {
  await using stack = new AsyncDisposableStack();
  const { here, there, proxy, client } = await openBoth(stack);
  const [watchers, one] = [new Watchers(there), newOne()];
  watchers.add(one);
  await poll("it to be known", async () => (await asks(here, one)) || null);
  proxy.hold();
  await wait(2000);
  assert.equal(await asks(here, one), true);
  await client.query("delete from node where id = $1", [there.id]);
  assert.equal(await asks(here, one), false);
  proxy.open();
});

test("what a crash of the database has lost is told again", async () => {
  await using stack = new AsyncDisposableStack();
  const { here, there, client } = await openBoth(stack);
  const [watchers, one] = [new Watchers(there), newOne()];
  watchers.add(one);
  await poll("it to be known", async () => (await asks(here, one)) || null);
  await client.query("delete from awaited");
  await poll("it to be known again", async () => (await asks(here, one)) || null);
});

test("of calls that are over soon nobody is told", async () => {
  await using stack = new AsyncDisposableStack();
  const { there, told } = await openBoth(stack);
  const watchers = new Watchers(there);
  const lasting = newOne();
  watchers.add(lasting);
  let late = 0;
  while ((await told()) === 0) {
    const begun = performance.now();
    const short = Array.from({ length: 50 }, newOne);
    for (const one of short) watchers.add(one);
    await wait(5);
    for (const one of short) watchers.delete(one);
    // Where this process paused, they were not over soon.
    if (performance.now() - begun > 200) late += short.length;
  }
  const count = await told();
  assert.ok(count === 1 || (count > 1 && count <= 1 + late), `${count} were told of`);
});

test("whoever leaves acts once nobody waits at either node", async () => {
  await using stack = new AsyncDisposableStack();
  const { here, there } = await openBoth(stack);
  const one = newOne();
  // As each of the nodes has it.
  const [own, other] = [
    new ActiveExecution(one.row, undefined, null),
    new ActiveExecution(one.row, undefined, null),
  ];
  const [first, second] = [new Watchers(here), new Watchers(there)];
  const acts: string[] = [];
  first.add(own);
  second.add(other);
  await poll("it to be known", async () => (await asks(here, one)) || null);
  first.delete(own);
  first.whenAlone(own, () => acts.push("first"));
  await wait(2000);
  assert.equal(acts.length, 0, "the second waits");
  second.delete(other);
  second.whenAlone(other, () => acts.push("second"));
  await poll("it to act", async () => acts.length > 0 || null);
  assert.deepEqual(acts, ["second"]);
});

test("what was promised counts as waited for until its end, at both nodes", async () => {
  await using stack = new AsyncDisposableStack();
  const { here, there, told } = await openBoth(stack);
  const one = newOne();
  const [own, other] = [
    new ActiveExecution(one.row, undefined, null),
    new ActiveExecution(one.row, undefined, null),
  ];
  const [first, second] = [new Watchers(here), new Watchers(there)];
  for (let time = 0; time < 3; time += 1) second.promise(other);
  await poll("it to be known", async () => (await asks(here, one)) || null);
  first.add(own);
  first.delete(own);
  const acts: string[] = [];
  first.whenAlone(own, () => acts.push("first"));
  await wait(2000);
  assert.deepEqual(acts, []);
  other.settle(decide(one.id, "ENDED_SUCCESS", ""));
  await poll("it to be taken back", async () => (await told()) === 0 || null);
  assert.equal(other.watchers, 0);
});
