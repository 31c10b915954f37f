import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { JobThread } from "../../src/server/request/job-thread.ts";
import { RequestError } from "../../src/shared/errors.ts";
import type { TestJobs } from "./threads/jobs.ts";

const FILE = new URL("threads/jobs.ts", import.meta.url);
const TERMS = { size: 1, isWanted: () => true };
/** Of a job that may take half a minute longer, however busy the machine is. */
const LARGE = { ...TERMS, size: 16 * 2 ** 20 };

interface Opened {
  readonly thread: JobThread<TestJobs>;
  readonly workers: Worker[];
}

function open(limits: ConstructorParameters<typeof JobThread>[1] = {}, file: URL = FILE): Opened {
  const workers: Worker[] = [];
  const thread = new JobThread<TestJobs>(() => {
    const worker = new Worker(file, {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 32 },
    });
    workers.push(worker);
    return worker;
  }, limits);
  return { thread, workers };
}

test("H6: jobs come back in turn, from one thread that starts with the first", async () => {
  const { thread, workers } = open();
  assert.equal(workers.length, 0);
  const all = await Promise.all([1, 2, 3].map((n) => thread.run("echo", n, TERMS)));
  assert.deepEqual(all, [1, 2, 3]);
  assert.equal(workers.length, 1);
});

test("H6: bytes are moved to the thread", async () => {
  const { thread } = open();
  const bytes = new Uint8Array([1, 2, 3]);
  const back = await thread.run("echo", bytes, { ...TERMS, moved: [bytes.buffer] });
  assert.deepEqual(back, new Uint8Array([1, 2, 3]));
  assert.equal(bytes.length, 0);
});

test("H6: a refusal comes back whole, and another error as one of the service", async () => {
  const { thread } = open();
  await assert.rejects(thread.run("refuse", "name", TERMS), {
    code: "invalid",
    message: "refused",
    fields: [{ field: "name", message: "expected" }],
  });
  await assert.rejects(thread.run("fail", undefined, TERMS), /out of range/);
});

test("H6: the start of its thread is no part of what a job takes", async () => {
  const { thread } = open({ limitMs: 500 }, new URL("threads/slow-start.ts", import.meta.url));
  assert.equal(await thread.run("echo", 1, LARGE), 1);
  await assert.rejects(thread.run("spin", undefined, TERMS), { message: /longer than 1 s/ });
  // The thread that comes after it starts as slowly.
  await assert.rejects(thread.run("spin", undefined, TERMS), { message: /longer than 1 s/ });
  assert.equal(await thread.run("echo", 2, LARGE), 2);
});

test("a job is refused while the system gives no thread, and the next one gets one", async () => {
  let stackSizeMb: number | undefined = 1e8;
  const thread = new JobThread<TestJobs>(() => {
    const limits = stackSizeMb === undefined ? {} : { stackSizeMb };
    return new Worker(FILE, { execArgv: [], resourceLimits: limits });
  });
  const told = await Promise.allSettled([1, 2].map((n) => thread.run("echo", n, TERMS)));
  for (const one of told) {
    assert.ok(one.status === "rejected" && one.reason instanceof RequestError);
    const { code, status, headers } = one.reason;
    assert.deepEqual([code, status, headers["retry-after"]], ["overloaded", 503, "5"]);
  }
  stackSizeMb = undefined;
  assert.equal(await thread.run("echo", 3, TERMS), 3);
});

test("H6: a job that takes too long is refused, and its thread replaced", async () => {
  const { thread, workers } = open({ limitMs: 3000 });
  await thread.run("echo", 1, LARGE);
  const slow = thread.run("spin", undefined, TERMS);
  const next = thread.run("echo", 2, LARGE);
  await assert.rejects(slow, { code: "bad_body", message: /longer than 4 s/ });
  assert.equal(await next, 2);
  assert.equal(workers.length, 2);
  if (workers[0]!.threadId !== -1) await once(workers[0]!, "exit");
});

test("H6: a job that takes all memory costs its thread alone", async () => {
  const { thread, workers } = open({ limitMs: 60_000 });
  await assert.rejects(thread.run("hoard", undefined, TERMS), {
    code: "bad_body",
    message: /too much memory/,
  });
  assert.equal(await thread.run("echo", 3, TERMS), 3);
  assert.equal(workers.length, 2);
});

test("H6: what waits is bounded, and what nobody waits for is left out", async () => {
  const { thread, workers } = open({ mostJobs: 3, mostBytes: 100 });
  let isWanted = true;
  const of = (client: string, size: number) => ({ client, size, isWanted: () => true });
  const first = thread.run("thread", undefined, TERMS);
  const gone = thread.run("echo", 1, { ...of("a", 1), isWanted: () => isWanted });
  const large = thread.run("echo", 2, of("b", 90));
  await assert.rejects(thread.run("echo", 3, of("c", 20)), { code: "overloaded" });
  const last = thread.run("echo", 4, of("d", 1));
  await assert.rejects(thread.run("echo", 5, TERMS), { code: "overloaded" });
  isWanted = false;
  await assert.rejects(gone, { code: "bad_body" });
  assert.deepEqual([await first, await large, await last], [workers[0]!.threadId, 2, 4]);
});

test("H6: clients take turns, each with its own in order", async () => {
  const { thread } = open();
  const done: string[] = [];
  const run = async (client: string, name: string): Promise<void> => {
    await thread.run("echo", name, { ...TERMS, client });
    done.push(name);
  };
  const first = run("a", "a1");
  const greedy = ["a2", "a3", "a4"].map((name) => run("a", name));
  const others = [run("b", "b1"), run("c", "c1"), run("b", "b2")];
  await Promise.all([first, ...greedy, ...others]);
  assert.deepEqual(done, ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
});

test("H6: once half of the room is taken, one client has no more than a quarter", async () => {
  for (const limits of [{ mostBytes: 16 }, { mostJobs: 16 }]) {
    const { thread } = open(limits);
    const running = thread.run("echo", 0, TERMS);
    // All of them come before the first is done.
    const asked = ["greedy", "other", "third", "fourth"].map((client) =>
      Promise.allSettled(
        Array.from({ length: 20 }, () => thread.run("echo", client, { ...TERMS, client })),
      ),
    );
    const let_in = (await Promise.all(asked)).map(
      (all) => all.filter(({ status }) => status === "fulfilled").length,
    );
    assert.deepEqual(let_in, [8, 4, 4, 0]);
    await running;
  }
});

test("H6: a thread without work ends, and the next job starts another", async () => {
  const { thread, workers } = open({ idleMs: 10 });
  await thread.run("echo", 1, TERMS);
  await once(workers[0]!, "exit");
  assert.equal(await thread.run("echo", 2, TERMS), 2);
  assert.equal(workers.length, 2);
});
