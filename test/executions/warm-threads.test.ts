import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { test } from "node:test";
import { openMachine, type Machine } from "./scheduler-fixture.ts";

/** Which threads are kept, and who gets another where as many are kept as may be: WARM_THREADS. */

test("idle threads go beyond those that are kept, least recently used first", async () => {
  const machine = openMachine({ workerThreads: 8, flowMaxConcurrent: 4, warmThreads: 2 });
  for (const id of ["a1", "b1", "c1"]) {
    machine.start(id);
    await machine.runAll();
    await machine.pass(1);
  }
  assert.deepEqual(
    machine.threads.map(({ flow, isEnding }) => [flow, isEnding]),
    [
      ["a", true],
      ["b", false],
      ["c", false],
    ],
  );
});

test("a further thread of a flow takes the place of one that nobody has needed for a second", async () => {
  const machine = await openUsed({ warmThreads: 2 }, ["a1", "b1"]);
  for (const id of ["a2", "a3"]) machine.start(id);
  await machine.turn();
  await machine.pass(900);
  assert.deepEqual(machine.begun.slice(2), ["a2"], "b's was in use");
  await machine.pass(200);
  assert.deepEqual(machine.begun.slice(2), ["a2", "a3"]);
  assert.deepEqual(statesOf(machine), ["a", "b ending", "a"]);
});

test("at once, where that thread is unused when the run comes", async () => {
  const machine = await openUsed({ warmThreads: 2 }, ["a1", "b1"]);
  await machine.pass(1000);
  for (const id of ["a2", "a3"]) machine.start(id);
  await machine.turn();
  assert.deepEqual(machine.begun.slice(2), ["a2", "a3"]);
});

test("and of one in use, once the flow has waited for a second", async () => {
  const machine = await openUsed({ warmThreads: 3 }, ["a1", "b1", "c1"]);
  for (const id of ["a2", "a3", "a4"]) machine.start(id);
  await machine.turn();
  for (let turn = 0; turn < 11; turn += 1) {
    assert.deepEqual(statesOf(machine), ["a", "b", "c"]);
    for (const flow of ["b", "c"]) await use(machine, flow);
    await machine.pass(90);
  }
  for (const flow of ["b", "c"]) await use(machine, flow);
  await machine.pass(200);
  assert.deepEqual(statesOf(machine), ["a", "b ending", "c", "a"], "a4 waits for another second");
});

test("a wait begins anew where nobody waits any more", async () => {
  const machine = await openUsed({ warmThreads: 2 }, ["a1", "b1"]);
  for (const id of ["a2", "a3"]) machine.start(id);
  await machine.turn();
  await machine.pass(800);
  await machine.runAll();
  await use(machine, "b");
  for (const id of ["a4", "a5"]) machine.start(id);
  await machine.turn();
  await machine.pass(500);
  assert.deepEqual(statesOf(machine), ["a", "b"]);
});

test("where no thread is idle, none is replaced, and all that may run do", async () => {
  const machine = openMachine({ workerThreads: 100, flowMaxConcurrent: 4, warmThreads: 1 });
  const flows = toFlows(60);
  for (const flow of flows) machine.start(`${flow}1`);
  for (const id of ["a1", "a2", "a3", "a4"]) machine.start(id);
  await machine.turn();
  assert.equal(machine.begun.length, flows.length + 4);
});

test("only so many threads a second take another's place, and nobody waits for long", async () => {
  const most = 8 * availableParallelism();
  const flows = toFlows(2 * most + 6);
  let crowded = 0;
  const onCrowded = () => (crowded += 1);
  const machine = await openUsed({ workerThreads: 1, warmThreads: 1, onCrowded }, ["a1"]);
  // Not in step with what is done each second anyway.
  await machine.pass(500);
  for (const flow of flows.slice(0, most)) machine.start(`${flow}1`);
  await machine.runAll();
  assert.equal(machine.endings.size, 1 + most);
  assert.equal(crowded, 0);
  for (const flow of flows.slice(most)) machine.start(`${flow}1`);
  await machine.runAll();
  const left = () => flows.length + 1 - machine.endings.size;
  const first = left();
  assert.ok(first > 0 && crowded > 0);
  assert.equal(machine.scheduler.queued, first, "they have to wait, and count");
  assert.equal(machine.scheduler.isFree(flows.at(-1) as string), false);
  assert.equal(machine.scheduler.roomOf("z"), 0, "nor may one that has none waiting");
  for (const expected of [first - most, 0]) {
    const before = left();
    await machine.pass(999);
    await machine.runAll();
    assert.equal(left(), before);
    await machine.pass(1);
    await machine.runAll();
    assert.equal(left(), expected);
  }
});

test("who waited for a second keeps that though the second's replacements are used up", async () => {
  const machine = await openUsed({ warmThreads: 2 }, ["a1", "b1"]);
  for (const id of ["a2", "a3"]) machine.start(id);
  await machine.turn();
  for (let turn = 0; turn < 30; turn += 1) {
    for (const flow of toFlows(8 * availableParallelism())) await use(machine, flow);
    await machine.pass(100);
  }
  assert.ok(machine.begun.includes("a3"));
});

test("a thread of one execution takes no other's place", async () => {
  const machine = openMachine({ workerThreads: 8, flowMaxConcurrent: 4, warmThreads: 3 });
  const specOf = machine.specOf.bind(machine);
  const isolation = (flow: string) => (flow === "x" ? "execution" : "flow");
  machine.specOf = (flow) => ({ ...specOf(flow), isolation: isolation(flow) });
  for (const flow of ["a", "b", "x"]) await use(machine, flow);
  for (let round = 0; round < 20; round += 1) {
    for (const flow of ["x", "a", "b"]) await use(machine, flow);
    await machine.pass(5);
  }
  assert.equal(machine.threads.filter(({ flow }) => flow !== "x").length, 2);
});

/** After a run each. */
async function openUsed(options: Parameters<typeof openMachine>[0], ids: readonly string[]) {
  const machine = openMachine({ workerThreads: 8, flowMaxConcurrent: 4, ...options });
  for (const id of ids) {
    machine.start(id);
    await machine.runAll();
  }
  return machine;
}

/** A run of a flow from its begin to its end, where it has a thread. */
async function use(machine: Machine, flow: string): Promise<void> {
  const { id } = machine.start(`${flow}-${machine.started}`);
  await machine.turn();
  machine.threads.find(({ worker }) => worker.current?.id === id)?.endCurrent(1);
  await machine.turn();
  for (const thread of machine.threads) if (thread.isEnding) thread.exit();
  await machine.turn();
}

const statesOf = ({ threads }: Machine) =>
  threads.map(({ flow, isEnding }) => (isEnding ? `${flow} ending` : flow));

/** A flow is the first letter of a run's id. */
const toFlows = (count: number) =>
  Array.from({ length: count }, (_, at) => String.fromCodePoint(0x100 + at));
