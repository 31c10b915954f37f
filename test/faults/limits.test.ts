import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { poll } from "../blackbox/scenario.ts";
import { openTestService, type TestService } from "./test-service.ts";
import { busyFactor, FAIR_CALLS, figure, mostHere, quantile, QUEUED } from "./sizes.ts";

/** Flows that go beyond their limits: the server stays, and others are answered meanwhile. */

const GRACE_MS = 300;
const TIMEOUT_MS = 400;

interface Hostile {
  readonly name: string;
  readonly code: string;
  readonly says: RegExp;
}

const HOSTILE: readonly Hostile[] = [
  { name: "loop", code: "() => { for (;;); }", says: /ENDED_TIMEOUT/ },
  { name: "microtasks", code: "async () => { for (;;) await null; }", says: /ENDED_TIMEOUT/ },
  { name: "regex", code: '() => /^(a+)+$/.test("a".repeat(40) + "b")', says: /ENDED_TIMEOUT/ },
  { name: "never", code: "() => new Promise(() => {})", says: /ENDED_TIMEOUT/ },
  { name: "array", code: "() => { const all = []; for (;;) all.push({}); }", says: LOST() },
  {
    name: "map",
    code: "() => { const all = new Map(); for (let i = 0; ; i++) all.set(i, i); }",
    says: LOST(),
  },
  {
    name: "buffers",
    code: `async () => { const all = []; for (;;) { all.push(Buffer.alloc(20_000_000, 1));
      await new Promise((r) => setTimeout(r, 1)); } }`,
    says: LOST(),
  },
  { name: "exit", code: "() => process.exit(0)", says: /ENDED_ERROR/ },
  { name: "nothing", code: "() => { throw null; }", says: /ENDED_ERROR/ },
  { name: "output", code: '() => "x".repeat(20_000_000)', says: /ENDED_ERROR: .*(bytes|larger)/ },
  {
    name: "prints",
    code: '() => { for (;;) console.log("x".repeat(1000)); }',
    says: /ENDED_(TIMEOUT|ERROR)/,
  },
  {
    name: "polluted",
    code: `() => { Object.prototype.polluted = 1; return 1; }`,
    says: /^1$/,
  },
  {
    name: "replaces",
    code: `() => { Array.prototype.map = null; return 1; }`,
    says: /ENDED_ERROR: Cannot assign to read only property 'map'/,
  },
  {
    name: "later",
    code: `() => { setTimeout(() => { throw new Error("late"); }, 5); return 1; }`,
    says: /^1$/,
  },
  { name: "native", code: "() => blocking()", says: /ENDED_TIMEOUT/ },
];

function LOST(): RegExp {
  return /ENDED_ERROR: (Out of memory|Lost with its runner|The flow's thread)|ENDED_TIMEOUT/;
}

const BLOCKING = `import { pbkdf2Sync } from "node:crypto";
const blocking = () => pbkdf2Sync("a", "b", 2 ** 31 - 1, 64, "sha512").length;`;

function toFile({ code, name, says }: Hostile): [string, string] {
  const sec = says.source.startsWith("ENDED_TIMEOUT") || name === "prints" ? TIMEOUT_MS / 1000 : 20;
  const text = `import { defineFlow } from "flowhook";
    ${name === "native" ? BLOCKING : ""}
    export default defineFlow({ timeout_sec: ${sec}, memory_mb: 64, run: ${code} });`;
  return [`${name}.js`, text];
}

describe("hostile flows", () => {
  test("each ends as it must, and another flow is answered meanwhile", async () => {
    await using service = await openTestService({
      config: {
        CANCEL_GRACE_SEC: GRACE_MS / 1000,
        SYNC_MODE: "hold",
        WORKER_THREADS: 4,
        RUNNER_MEMORY_MB: 700,
      },
      flows: ["echo"],
      files: Object.fromEntries(HOSTILE.map(toFile)),
    });
    await service.createWebhook("echo", "echo", { is_productive: true });
    for (const { name } of HOSTILE)
      await service.createWebhook(name, name, { is_productive: true });
    const errors: string[] = [];
    let deaths = 0;
    for (const { name, says } of HOSTILE) {
      const call = service.call(name);
      const other = await poll(`the other flow beside "${name}"`, async () =>
        (await service.call("echo")).status === 200 ? true : null,
      );
      const answer = await call;
      if (!other || !says.test(answer.text)) errors.push(`${name}: ${answer.text.slice(0, 200)}`);
      await service.assertAlive().catch((error: unknown) => {
        deaths += 1;
        errors.push(String(error));
      });
    }
    figure("hostile flows: cases", HOSTILE.length);
    figure("hostile flows: deaths of the server", deaths);
    assert.deepEqual(errors, []);
  });
});

const BUSY = `import { defineFlow } from "flowhook";
  export default defineFlow({ timeout_sec: ${TIMEOUT_MS / 1000}, run: () => { for (;;); } });`;
const BUSY_LONG = `import { defineFlow } from "flowhook";
  export default defineFlow({ timeout_sec: 60, run: () => { for (;;); } });`;
const HELD = `import { defineFlow } from "flowhook";
  ${BLOCKING}
  export default defineFlow({ timeout_sec: ${TIMEOUT_MS / 1000}, run: blocking });`;

/** Takes no time, and every twentieth run costs its thread: what is ahead then comes back. */
const MOSTLY = `let runs = 0; export default () => { if ((runs += 1) % 20 === 0) throw new Error("no"); };`;

describe("limits", () => {
  const isLinux = process.platform === "linux";
  test(
    "where memory ends, the kernel takes a runner before the server",
    { skip: !isLinux },
    async () => {
      await using service = await openTestService({ flows: ["echo"] });
      const score = async (pid: number) =>
        Number(await readFile(`/proc/${pid}/oom_score_adj`, "utf8"));
      const scores = await Promise.all(service.runners().map(score));
      assert.deepEqual(new Set(scores), new Set([500]));
      assert.ok((await score(service.pid)) < 500);
    },
  );

  test("from a limit to the answer, and to the end of the thread or the runner", async () => {
    await using service = await openTestService({
      config: { CANCEL_GRACE_SEC: GRACE_MS / 1000, SYNC_MODE: "hold", WORKER_THREADS: 4 },
      files: { "busy.js": BUSY, "long.js": BUSY_LONG, "held.js": HELD },
    });
    for (const name of ["busy", "long", "held"])
      await service.createWebhook(name, name, { is_productive: true });
    const answers: number[] = [];
    const threads: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const begun = performance.now();
      const answer = await service.call("busy");
      answers.push(performance.now() - begun - TIMEOUT_MS);
      assert.match(answer.text, /ENDED_TIMEOUT/);
      await nothingRuns(service);
      threads.push(performance.now() - begun - TIMEOUT_MS);
    }
    const cancels: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const call = service.call("long");
      const id = await runningExecution(service);
      const begun = performance.now();
      const cancelled = await service.api("POST", `/execution/${id}/cancel`);
      assert.equal(cancelled.status, 200);
      await call;
      cancels.push(performance.now() - begun);
      await nothingRuns(service);
      threads.push(performance.now() - begun);
    }
    const begun = performance.now();
    const answer = await service.call("held");
    answers.push(performance.now() - begun - TIMEOUT_MS);
    assert.match(answer.text, /ENDED_TIMEOUT/);
    await nothingRuns(service);
    const runner = performance.now() - begun - TIMEOUT_MS;
    const factor = busyFactor();
    figure("limits: from a time-out to the caller's answer, worst", Math.max(...answers), "ms");
    figure("limits: from a cancel to the caller's answer, worst", Math.max(...cancels), "ms");
    figure("limits: to the end of the thread, worst", Math.max(...threads), "ms");
    figure("limits: to the end of a runner that a native call holds", runner, "ms");
    figure("limits: CANCEL_GRACE_SEC", GRACE_MS, "ms");
    for (const times of [answers, cancels]) {
      assert.ok(quantile(times, 0.5) <= 250 * factor, times.join(", "));
      assert.ok(Math.max(...times) <= mostHere(250), times.join(", "));
    }
    assert.ok(quantile(threads, 0.5) <= GRACE_MS + 250 * factor, threads.join(", "));
    assert.ok(Math.max(...threads) <= GRACE_MS + mostHere(250), threads.join(", "));
    assert.ok(runner <= GRACE_MS + mostHere(3000), `${runner} ms`);
  });

  test("a short flow whose threads are replaced loses no slot", async () => {
    await using service = await openTestService({
      config: { WORKER_THREADS: 4, MAX_QUEUED_EXECUTIONS: 100_000 },
      files: { "mostly.js": MOSTLY },
    });
    await service.createWebhook("mostly", "mostly", { is_productive: true });
    for (let n = 0; n < 20; n += 1)
      await Promise.all(Array.from({ length: 50 }, () => service.call("mostly", "?async")));
    await poll("everything to have ended", async () => {
      const { text } = await service.api("GET", "/workspace");
      const { running, waiting } = (JSON.parse(text) as Workspace).executions;
      return running + waiting === 0 ? true : null;
    });
    // A slot that was lost would be missing now.
    const held = Array.from({ length: 2 }, () => service.call("mostly", "?async"));
    assert.deepEqual(
      (await Promise.all(held)).map(({ status }) => status),
      [201, 201],
    );
    await nothingRuns(service);
    await service.assertAlive();
  });

  test("one flow with a long queue does not starve another", async () => {
    await using service = await openTestService({
      config: { MAX_QUEUED_EXECUTIONS: 1_000_000, WORKER_THREADS: 8 },
      flows: ["echo", "sleep"],
    });
    await service.createWebhook("echo", "echo", { is_productive: true, sync_mode: "hold" });
    await service.createWebhook("sleep", "sleep", { is_productive: true });
    await times(service, 20);
    const alone = await times(service, FAIR_CALLS);
    for (let n = 0; n < QUEUED; n += 50)
      await Promise.all(Array.from({ length: 50 }, () => service.call("sleep", "?async&ms=60000")));
    const beside = await times(service, FAIR_CALLS);
    const p99 = [quantile(alone, 0.99), quantile(beside, 0.99)] as const;
    const median = [quantile(alone, 0.5), quantile(beside, 0.5)] as const;
    figure("fairness: executions of 60 s that wait", QUEUED);
    figure("fairness: p99 of another flow alone", p99[0], "ms");
    figure("fairness: p99 of another flow beside them", p99[1], "ms");
    await service.assertAlive();
    const added = [median[1] - median[0], p99[1] - p99[0]] as const;
    assert.ok(added[0] <= 50 * busyFactor(), `it adds ${added[0]} ms`);
    assert.ok(added[1] <= mostHere(50), `it adds ${added[1]} ms to the slowest`);
  });
});

async function times(service: TestService, count: number): Promise<number[]> {
  const taken: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const begun = performance.now();
    assert.equal((await service.call("echo")).status, 200);
    taken.push(performance.now() - begun);
  }
  return taken;
}

interface Workspace {
  readonly executions: { readonly running: number; readonly waiting: number };
}

async function running(service: TestService): Promise<number> {
  const { text } = await service.api("GET", "/workspace");
  return (JSON.parse(text) as Workspace).executions.running;
}

/** Until no execution holds a thread. */
async function nothingRuns(service: TestService): Promise<void> {
  await poll("every thread to be free", async () => ((await running(service)) === 0 ? true : null));
}

async function runningExecution(service: TestService): Promise<string> {
  return poll("an execution to run", async () => {
    const { text } = await service.api("GET", "/execution?status=RUNNING&limit=1");
    const [first] = (JSON.parse(text) as { items: { id: string }[] }).items;
    // Inside of its loop, not on its way there.
    if (first !== undefined) await wait(50);
    return first?.id ?? null;
  });
}
