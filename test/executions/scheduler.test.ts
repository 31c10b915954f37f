import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Run } from "../../src/server/workers/worker.ts";
import { openMachine, type Machine } from "./scheduler-fixture.ts";

/** The scheduler by itself: its threads and its clock are made up, and its workers are the real ones. */

test("waiting flows take turns, and within a flow the first comes first", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  for (const id of ["a1", "a2", "a3", "b1", "b2"]) machine.start(id);
  await machine.runAll();
  assert.deepEqual(machine.begun, ["a1", "b1", "a2", "b2", "a3"]);
});

test("a run that was taken out and is back has its turn before what is younger", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  const [, second] = ["a1", "a2", "a3"].map((id) => machine.start(id));
  assert.ok(second !== undefined && machine.scheduler.withdraw(second));
  machine.start("a4");
  machine.scheduler.enqueue(second);
  await machine.runAll();
  assert.deepEqual(machine.begun, ["a1", "a2", "a3", "a4"]);
});

test("a run that takes the place of others has their turn, time and again", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  const [, second] = ["a1", "a2", "a3"].map((id) => machine.start(id));
  let { turn } = second as Run;
  for (let replaced = second as Run, at = 4; at < 7; at += 1) {
    machine.scheduler.withdraw(replaced);
    replaced = machine.start(`a${at}`, "", turn);
    ({ turn } = replaced);
  }
  await machine.runAll();
  assert.deepEqual(machine.begun, ["a1", "a6", "a3"]);
});

test("one flow never has more than its share", async () => {
  const machine = openMachine({ workerThreads: 4, flowMaxConcurrent: 2 });
  for (const id of ["a1", "a2", "a3", "b1"]) machine.start(id);
  await machine.turn();
  assert.deepEqual(machine.begun, ["a1", "a2", "b1"]);
});

test("M12: the last free thread is kept for a flow that has none", async () => {
  const machine = openMachine({ workerThreads: 4, flowMaxConcurrent: 2 });
  for (const id of ["a1", "a2", "b1", "b2"]) machine.start(id);
  await machine.turn();
  assert.deepEqual(machine.begun, ["a1", "b1", "a2"]);
  assert.deepEqual(
    ["a", "b", "c"].map((flow) => machine.scheduler.isFree(flow)),
    [false, false, true],
  );
  machine.start("c1");
  await machine.turn();
  assert.deepEqual(machine.begun, ["a1", "b1", "a2", "c1"]);
});

test("a single thread is for everybody", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  assert.equal(machine.scheduler.isFree("a"), true);
  machine.start("a1");
  assert.equal(machine.scheduler.isFree("a"), false, "it is taken before its thread has started");
  assert.equal(machine.scheduler.queued, 0);
  machine.start("a2");
  assert.equal(machine.scheduler.queuedOf("a"), 1);
  await machine.turn();
  assert.equal(machine.scheduler.queuedOf("a"), 1);
});

test("an idle thread is of no use to a run that may not have it", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  machine.start("a1");
  await machine.runAll();
  machine.start("b1");
  await machine.turn();
  assert.deepEqual(machine.begun, ["a1", "b1"]);
});

test("short runs go to a thread together, and wait behind each other in it", async () => {
  const machine = await openWarm(0.01);
  for (let at = 0; at < 40; at += 1) machine.start(`a${at}`);
  await machine.turn();
  assert.deepEqual(machine.frames.slice(-2), [16, 16]);
  assert.deepEqual(machine.scheduler.counts(), { running: 1, waiting: 39 });
});

test("short runs go together while another flow starts its thread", async () => {
  const machine = await openWarm(0.01);
  machine.start("b1");
  for (let at = 0; at < 4; at += 1) machine.start(`a${at}`);
  await machine.turn();
  assert.deepEqual(machine.frames.slice(-2), [4, 1]);
});

test("while another flow has no thread and can have none, nothing is put behind a run", async () => {
  const machine = await openWarm(0.01, 1, 1);
  for (let at = 0; at < 20; at += 1) machine.start(`a${at}`);
  machine.start("b1");
  await machine.turn();
  assert.equal(machine.frames.at(-1), 16);
  await machine.runAll();
  assert.deepEqual(machine.begun.slice(-5), ["b1", "a16", "a17", "a18", "a19"]);
});

test("nor while another flow has fewer threads than it may: it gets the next that is free", async () => {
  const machine = await openWarm(0.01, 2);
  machine.start("b-hung");
  await machine.turn();
  for (let at = 0; at < 100; at += 1) machine.start(`a${at}`);
  await machine.turn();
  machine.start("b1");
  await machine.turn();
  const own = machine.threads.filter(({ flow }) => flow === "a");
  for (let turn = 0; turn < 60; turn += 1) {
    for (const thread of own) thread.endCurrent(0.01);
    await machine.turn();
  }
  assert.ok(machine.begun.includes("b1"));
  assert.ok(!machine.endings.has("a99"), "others still wait");
});

test("a flow that waits for its own start keeps nobody from being put behind", async () => {
  const machine = await openWarm(0.01, 2, 3);
  machine.start("b1");
  for (let at = 0; at < 60; at += 1) machine.start(`a${at}`);
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  const [own] = machine.threads.filter(({ flow }) => flow === "a");
  assert.equal(machine.threads.find(({ flow }) => flow === "b")?.worker.isStarting, true);
  assert.ok((own?.worker.length ?? 0) > 16, `${own?.worker.length} stand there`);
});

test("what stands behind a run that takes long comes back, and runs elsewhere once", async () => {
  const machine = await openWarm(0.01, 2);
  for (let at = 0; at < 6; at += 1) machine.start(`a${at}`);
  await machine.turn();
  assert.equal(machine.threads.length, 1);
  await machine.pass(5);
  await machine.turn();
  assert.equal(machine.threads.length, 2);
  await machine.runAll();
  assert.deepEqual(machine.begun.slice(-6).toSorted(), ["a0", "a1", "a2", "a3", "a4", "a5"]);
});

test("a limit begins with its own run, and the thread ends after the grace", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1, timeoutMs: 2000 });
  machine.start("a1");
  machine.start("a2");
  await machine.turn();
  await machine.pass(1999);
  assert.deepEqual(machine.expired, []);
  await machine.pass(1);
  assert.deepEqual(machine.expired, ["a1"]);
  assert.deepEqual(machine.threads[0]?.aborted, ["a1"]);
  await machine.pass(99);
  assert.equal(machine.threads[0]?.isEnding, false);
  await machine.pass(1);
  assert.equal(machine.threads[0]?.isEnding, true);
  await machine.exit(0);
  assert.match(machine.endings.get("a1")?.status_message ?? "", /limit/);
  await machine.turn();
  await machine.pass(1999);
  assert.deepEqual(machine.expired, ["a1"]);
  await machine.pass(1);
  assert.deepEqual(machine.expired, ["a1", "a2"]);
});

test("what waits and is aborted never begins", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  machine.start("a1");
  await machine.turn();
  const second = machine.start("a2");
  assert.equal(machine.scheduler.abort(second, "stop"), true);
  assert.equal(machine.scheduler.abort(second, "again"), false);
  await machine.runAll();
  assert.deepEqual(machine.begun, ["a1"]);
});

test("what stands behind another and is aborted ends without a thread", async () => {
  const machine = await openWarm(0.01);
  const runs = ["a1", "a2", "a3"].map((id) => machine.start(id));
  await machine.turn();
  assert.equal(machine.scheduler.abort(runs[1]!, "stop"), false);
  await machine.runAll();
  assert.deepEqual(machine.begun.slice(-2).toSorted(), ["a1", "a3"]);
  assert.equal(machine.endings.get("a2")?.status_message, "stop");
});

test("a thread that cannot start costs the next run, and one that is lost its own", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  machine.refuses = "no such file";
  machine.start("a1");
  await machine.turn();
  assert.equal(machine.endings.get("a1")?.status_message, "no such file");
  machine.refuses = null;
  machine.start("a2");
  machine.start("a3");
  await machine.turn();
  await machine.exit(0);
  assert.equal(machine.endings.get("a2")?.status_message, "gone");
  await machine.runAll();
  assert.equal(machine.endings.get("a3")?.status, "ENDED_SUCCESS");
});

test("a thread that spoilt itself is followed by another before somebody needs it", async () => {
  const machine = openMachine({ workerThreads: 2, flowMaxConcurrent: 1, isolation: "execution" });
  machine.start("a1");
  await machine.runAll();
  assert.deepEqual(
    machine.threads.map(({ isEnding }) => isEnding),
    [true, false],
  );
});

test("who comes while a thread starts that nobody waits for need not wait for others", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1, isolation: "execution" });
  machine.start("a1");
  await machine.turn();
  assert.equal(machine.scheduler.isFree("a"), false);
  machine.threads[0]?.endCurrent(1);
  assert.equal(machine.threads[1]?.worker.isStarting, true);
  assert.equal(machine.scheduler.isFree("a"), true);
  assert.equal(machine.scheduler.isFree("b"), false, "it is of another flow");
  machine.start("a2");
  assert.equal(machine.scheduler.isFree("a"), false);
  assert.equal(machine.scheduler.queued, 0);
});

test("a thread that starts for what another waits for is for no other", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  machine.start("a1");
  await machine.turn();
  machine.startAwaited("a1", "b1");
  await new Promise<void>((resolve) => process.nextTick(resolve));
  const [, beside] = machine.threads;
  assert.equal(beside?.worker.isStarting, true);
  assert.equal(machine.scheduler.isFree("b"), false);
  const [awaited] = beside.worker.lender?.awaited ?? [];
  assert.ok(awaited !== undefined && machine.scheduler.abort(awaited, "stop"));
  assert.equal(machine.scheduler.isFree("b"), false);
});

test("after a run that failed its thread is renewed, eight times at once", async () => {
  const machine = openMachine({ workerThreads: 2, flowMaxConcurrent: 1 });
  for (let n = 1; n <= 12; n += 1) await failOne(machine, `a${n}`);
  assert.deepEqual([endingOf(machine).length, machine.threads.length], [8, 9]);
});

test("a thread in which much has failed is renewed once, and what stands behind is called back", async () => {
  const machine = await openWarm(0.01);
  for (let n = 1; n <= 8; n += 1) machine.start(`a-behind-${n}`);
  await machine.turn();
  assert.equal(machine.frames.at(-1), 8, "they were given to one thread");
  const thread = machine.threads.find(({ canEnd }) => canEnd);
  thread?.worker.stray();
  thread?.endCurrent(1, "doubtful");
  thread?.worker.stray();
  await machine.turn();
  thread?.endCurrent(1, "doubtful");
  assert.equal(thread?.canEnd, false, "it had one more, which had begun");
  await machine.runAll();
  for (let n = 1; n <= 12; n += 1) await failOne(machine, `a-fails-${n}`);
  assert.equal(endingOf(machine).length, 8);
  assert.equal(machine.endings.size, 60 + 8 + 12);
});

/** A run that fails on its own. */
async function failOne(machine: Machine, id: string): Promise<void> {
  machine.start(id);
  await machine.turn();
  machine.threads.find(({ canEnd }) => canEnd)?.endCurrent(1, "doubtful");
  await machine.runAll();
}

const endingOf = (machine: Machine) => machine.threads.filter(({ isEnding }) => isEnding);

test("a thread that was started before its run has the first that comes", async () => {
  const machine = openMachine({ workerThreads: 2 });
  machine.scheduler.warm(machine.specOf("a"));
  await machine.turn();
  machine.start("a1");
  await machine.turn();
  assert.deepEqual([machine.threads.length, machine.begun], [1, ["a1"]]);
  await machine.runAll();
  machine.start("b1");
  await machine.runAll();
  assert.equal(machine.threads.length, 2, "it takes nobody's place");
});

test("no thread is started before its run where none is kept, or none can be", async () => {
  const none = openMachine({ warmThreads: 0 });
  none.scheduler.warm(none.specOf("a"));
  assert.equal(none.threads.length, 0);
  const refused = openMachine({});
  refused.refuses = "no memory";
  refused.scheduler.warm(refused.specOf("a"));
  await refused.turn();
  refused.refuses = null;
  refused.start("a1");
  await refused.runAll();
  assert.equal(refused.endings.get("a1")?.status, "ENDED_SUCCESS");
});

test("a stop hands nothing more over, but to threads that start for it", async () => {
  const machine = await openWarm(0.01);
  for (const id of ["a1", "a2", "a3"]) machine.start(id);
  await machine.turn();
  machine.start("b1");
  await new Promise((resolve) => process.nextTick(resolve));
  const stopped = machine.scheduler.stop();
  machine.start("c1");
  await machine.turn();
  await stopped;
  assert.deepEqual(machine.waiting.toSorted(), ["a2", "a3", "c1"]);
  let isIdle = false;
  const idle = machine.scheduler.whenIdle().then(() => (isIdle = true));
  await machine.turn();
  assert.equal(isIdle, false);
  await machine.runAll();
  await idle;
  assert.deepEqual(machine.begun.slice(-2).toSorted(), ["a1", "b1"]);
});

test("runs that wait for each other's flows have the slots of those that wait for them", async () => {
  const machine = openMachine({ workerThreads: 2, flowMaxConcurrent: 1 });
  for (const id of ["a1", "b1", "a2", "b2"]) machine.start(id);
  await machine.turn();
  machine.startAwaited("a1", "b3");
  machine.startAwaited("b1", "a3");
  await machine.turn();
  assert.deepEqual(machine.begun, ["a1", "b1", "b3", "a3"]);
  await machine.runAll();
  assert.equal(machine.endings.size, 6);
});

test("while it stops, what a run waits for is handed over, and nothing else", async () => {
  const machine = openMachine({ workerThreads: 2, flowMaxConcurrent: 1 });
  for (const id of ["a1", "d1"]) machine.start(id);
  await machine.turn();
  void machine.scheduler.stop();
  machine.startAwaited("a1", "b1");
  machine.start("c1");
  await machine.turn();
  assert.deepEqual(machine.begun, ["a1", "d1", "b1"]);
  machine.startAwaited("b1", "c2");
  await machine.turn();
  assert.deepEqual(machine.begun.slice(3), ["c2"]);
  machine.scheduler.close();
  machine.startAwaited("c2", "d2");
  await machine.turn();
  assert.equal(machine.begun.length, 4);
});

test("at a stop a thread that starts beside a run is for what that one waits for", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  machine.start("a1");
  await machine.turn();
  machine.start("b1");
  machine.startAwaited("a1", "b2");
  await new Promise<void>((resolve) => process.nextTick(resolve));
  assert.equal(machine.threads.find(({ flow }) => flow === "b")?.worker.isStarting, true);
  void machine.scheduler.stop();
  await machine.turn();
  assert.deepEqual(machine.begun, ["a1", "b2"]);
});

test("at a stop what was promised to a thread that cannot start goes to another, or fails", async () => {
  for (const [fail, status] of [
    ["lose", "ENDED_SUCCESS"],
    ["exit", "ENDED_ERROR"],
  ] as const) {
    const machine = openMachine({ workerThreads: 2, flowMaxConcurrent: 1 });
    machine.start("a1");
    await machine.turn();
    machine.startAwaited("a1", "b1");
    await new Promise<void>((resolve) => process.nextTick(resolve));
    void machine.scheduler.stop();
    await machine.act({ type: fail, at: 1 });
    await machine.runAll();
    assert.equal(machine.endings.get("b1")?.status, status);
    assert.equal(machine.endings.get("a1")?.status, "ENDED_SUCCESS");
  }
});

test("at a stop what nobody waits for is left to the next start, where its thread is lost", async () => {
  const machine = openMachine({ workerThreads: 1 });
  machine.start("a1");
  await new Promise<void>((resolve) => process.nextTick(resolve));
  void machine.scheduler.stop();
  assert.deepEqual(machine.waiting, []);
  await machine.act({ type: "lose", at: 0 });
  assert.deepEqual([machine.waiting, machine.endings.size], [["a1"], 0]);
});

test("where a thread cannot start beside another, it is what that one waits for that fails", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  machine.start("a1");
  await machine.turn();
  machine.start("b1");
  machine.refuses = "no such file";
  machine.startAwaited("a1", "b2");
  await machine.turn();
  assert.deepEqual([...machine.endings.keys()], ["b2"]);
  machine.refuses = null;
  machine.startAwaited("a1", "b3");
  await new Promise<void>((resolve) => process.nextTick(resolve));
  await machine.act({ type: "exit", at: 1 });
  assert.deepEqual([...machine.endings.keys()], ["b2", "b3"]);
  await machine.runAll();
  assert.equal(machine.endings.get("b1")?.status, "ENDED_SUCCESS");
});

test("a run may lend its slot to the next that it waits for, where that needs it", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  const [first, second] = [machine.start("a1"), machine.start("d1")];
  await machine.turn();
  const mayLend = (run: Run, flow: string) => machine.scheduler.mayLend(run, flow);
  assert.deepEqual([mayLend(first, "b"), mayLend(second, "b")], [true, false]);
  machine.startAwaited("a1", "b1");
  assert.equal(mayLend(first, "c"), false, "another has it first");
  await machine.turn();
  assert.equal(mayLend(first, "c"), false, "another has it");
  machine.threads[1]?.endCurrent(1);
  assert.equal(mayLend(first, "c"), true);
});

test("a single thread's run can wait for another, and that for a third", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  for (const id of ["a1", "d1"]) machine.start(id);
  await machine.turn();
  machine.startAwaited("a1", "b1");
  await machine.turn();
  machine.startAwaited("b1", "c1");
  await machine.turn();
  assert.deepEqual(machine.begun, ["a1", "b1", "c1"]);
  await machine.runAll();
  assert.deepEqual(machine.begun, ["a1", "b1", "c1", "d1"]);
});

test("one slot is lent to one run at a time", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  machine.start("a1");
  await machine.turn();
  for (const id of ["b1", "c1", "b2"]) machine.startAwaited("a1", id);
  for (const begun of ["b1", "c1", "b2"]) {
    await machine.turn();
    assert.equal(machine.begun.at(-1), begun);
    machine.threads.find(({ canEnd }) => canEnd)?.endCurrent(1);
  }
  await machine.runAll();
  assert.equal(machine.endings.size, 4);
});

test("what is waited for keeps to the limit of its flow, of which what waits is no part", async () => {
  const machine = openMachine({ workerThreads: 2, flowMaxConcurrent: 1 });
  for (const id of ["a1", "b1"]) machine.start(id);
  await machine.turn();
  machine.startAwaited("a1", "b2");
  await machine.turn();
  assert.deepEqual(machine.begun, ["a1", "b1"]);
  machine.startAwaited("b1", "c1");
  await machine.turn();
  assert.deepEqual(machine.begun.slice(2).toSorted(), ["b2", "c1"]);
});

test("who has a lent slot keeps it, once its lender has ended", async () => {
  const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1 });
  for (const id of ["a1", "d1"]) machine.start(id);
  await machine.turn();
  machine.startAwaited("a1", "b1");
  await machine.turn();
  machine.threads.find(({ flow }) => flow === "a")?.endCurrent(1);
  await machine.turn();
  assert.deepEqual(machine.begun, ["a1", "b1"]);
  await machine.runAll();
  assert.deepEqual(machine.begun, ["a1", "b1", "d1"]);
});

/** A thread that does nothing after its first run, and has been given another. */
async function openHeld(limits: { timeoutMs?: number }) {
  const machine = openMachine({ workerThreads: 3, flowMaxConcurrent: 2, ...limits });
  machine.start("a1");
  await machine.runAll();
  const [held] = machine.threads;
  assert.ok(held !== undefined);
  held.isHeld = true;
  machine.start("a2");
  await machine.turn();
  return { machine, held };
}

test("what a thread does not begin goes to another after a second, and the thread ends", async () => {
  const { machine, held } = await openHeld({});
  await machine.pass(999);
  assert.deepEqual([machine.begun, held.isEnding], [["a1"], false]);
  await machine.pass(1);
  assert.deepEqual([machine.begun, held.isEnding], [["a1", "a2"], true]);
  await machine.runAll();
  assert.equal(machine.endings.get("a2")?.status, "ENDED_SUCCESS");
});

test("so does what may run for less than that, before its limit ends it", async () => {
  for (const late of [0, 3000]) {
    const { machine, held } = await openHeld({ timeoutMs: 500 });
    await machine.pass(499);
    assert.equal(held.isEnding, false);
    machine.now += late;
    await machine.pass(1);
    assert.deepEqual([machine.begun, held.isEnding], [["a1", "a2"], true]);
    await machine.pass(499);
    assert.deepEqual(machine.expired, []);
    await machine.pass(26);
    assert.deepEqual(machine.expired, ["a2"], "it has begun, and its limit is its own");
  }
});

test("a short limit holds where the thread cannot be asked, or does not answer", async () => {
  for (const isLost of [false, true]) {
    const machine = openMachine({ workerThreads: 1, flowMaxConcurrent: 1, timeoutMs: 500 });
    machine.start("a1");
    await machine.turn();
    const worker = machine.threads[0]?.worker;
    assert.ok(worker !== undefined);
    if (isLost) worker.isRecalling = true;
    await machine.pass(524);
    assert.deepEqual(machine.expired, []);
    await machine.pass(1);
    assert.deepEqual(machine.expired, ["a1"]);
  }
});

test("so do several that are called back from it, one time after the other", async () => {
  const machine = await openWarm(0.01);
  const [held] = machine.threads;
  assert.ok(held !== undefined);
  held.isHeld = true;
  machine.start("a1");
  machine.start("a2");
  await machine.turn();
  await machine.pass(1100);
  assert.equal(held.isEnding, true);
  await machine.runAll();
  assert.deepEqual(machine.begun.slice(-2), ["a1", "a2"]);
});

test("one that is held gets one run at a time, though runs have become short meanwhile", async () => {
  const machine = openMachine({ workerThreads: 4, flowMaxConcurrent: 2, ms: 0.01 });
  for (let at = 0; at < 60; at += 1) machine.start(`a-${at}`);
  await machine.runAll();
  for (let at = 0; at < 16; at += 1) machine.start(`a=${at}`);
  await machine.turn();
  const held = machine.threads.find(({ worker }) => worker.length > 0);
  await machine.runAll();
  const other = machine.threads.find((thread) => thread !== held);
  assert.ok(held !== undefined && other !== undefined);
  held.isHeld = true;
  for (let at = 0; at < 30; at += 1) machine.start(`a+${at}`);
  await machine.turn();
  const { worker } = held;
  const recall = worker.recall.bind(worker);
  worker.recall = () => {
    recall();
    // Before it is answered, so many end that a run counts as short again.
    for (let at = 0; at < 12; at += 1) other.endCurrent(0.01);
  };
  await machine.pass(2);
  other.endCurrent(0.01);
  await machine.pass(3.5);
  await machine.pass(6);
  await machine.pass(1100);
  assert.equal(held.isEnding, true);
});

test("what has begun is left where it is, however long it takes", async () => {
  const machine = openMachine({ workerThreads: 3, flowMaxConcurrent: 2 });
  machine.start("a1");
  await machine.runAll();
  machine.start("a2");
  await machine.turn();
  await machine.pass(60_000);
  await machine.runAll();
  machine.start("a3");
  await machine.runAll();
  assert.deepEqual([machine.begun, machine.threads.length], [["a1", "a2", "a3"], 1]);
});

/** After some runs of a flow that take so long. */
async function openWarm(ms: number, flowMaxConcurrent = 1, workerThreads = 4): Promise<Machine> {
  const machine = openMachine({ workerThreads, flowMaxConcurrent, ms });
  for (let at = 0; at < 60; at += 1) {
    machine.start(`a-warm-${at}`);
    await machine.runAll();
  }
  return machine;
}

const LIMITS = fc.record({
  workerThreads: fc.integer({ min: 1, max: 5 }),
  flowMaxConcurrent: fc.integer({ min: 1, max: 3 }),
  warmThreads: fc.constantFrom(1, 2, 4, 100),
  isolation: fc.constantFrom("flow" as const, "execution" as const),
  // Many together, some behind others, each with a thread of its own.
  ms: fc.constantFrom(0.01, 0.3, 2, 50),
});

const FLOW = fc.constantFrom("a", "b", "c", "d", "e");

const OTHERS = ["abort", "exit", "lose", "fail", "stray", "cut", "hold"] as const;

/** What may happen to a machine, in any order. */
type Act =
  | { readonly type: "start"; readonly flow: string }
  | { readonly type: (typeof OTHERS)[number] | "end"; readonly at: number }
  | { readonly type: "pass"; readonly ms: number }
  | { readonly type: "await"; readonly at: number; readonly flow: string };

const ACT: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("start" as const),
      flow: FLOW,
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("end" as const), at: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom(...OTHERS),
      at: fc.nat(20),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("pass" as const),
      ms: fc.constantFrom(1, 5, 100, 2000),
    }),
  },
);

/** Each run comes to one ending, and has begun once at most. */
async function endAll(machine: Machine): Promise<void> {
  // Threads that take another's place may have to wait for a second.
  for (let second = 0; machine.endings.size < machine.started; second += 1) {
    assert.ok(second < 60, "somebody starves");
    await machine.runAll();
    await machine.pass(1000);
  }
  await machine.runAll();
  assert.equal(new Set(machine.begun).size, machine.begun.length, "none has begun twice");
  assert.equal(machine.endings.size, machine.started, "each has one ending");
  assert.deepEqual(machine.scheduler.counts(), { running: 0, waiting: 0 });
  assert.equal(machine.scheduler.queued, 0);
}

test("none is lost, none runs twice, no limit is passed and nobody starves", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(ACT, { maxLength: 120, size: "max" }),
      LIMITS,
      fc.constantFrom(300, 3000),
      async (acts, limits, timeoutMs) => {
        const machine = openMachine({ ...limits, timeoutMs });
        for (const act of acts) {
          await machine.act(act);
          machine.check();
        }
        await endAll(machine);
      },
    ),
    { numRuns: 300 },
  );
});

const AWAIT: fc.Arbitrary<Act> = fc.record({
  type: fc.constant("await" as const),
  at: fc.nat(20),
  flow: FLOW,
});

test("however runs wait for others, all come to an end without a time limit", async () => {
  // The first of a round that is called back, and never begins, ends with its time limit.
  const free = ACT.filter(({ type }) => type !== "hold");
  const acts = fc.array(fc.oneof({ weight: 1, arbitrary: free }, { weight: 2, arbitrary: AWAIT }), {
    maxLength: 80,
    size: "max",
  });
  await fc.assert(
    fc.asyncProperty(acts, LIMITS, async (some, limits) => {
      const machine = openMachine(limits);
      for (const act of some) {
        await machine.act(act);
        machine.check();
      }
      await endAll(machine);
      assert.deepEqual(machine.expired, []);
    }),
    { numRuns: 300 },
  );
});
