import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFile,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { toMessages } from "../../src/shared/wire/channel.ts";
import { FrameReader, toFrame } from "../../src/shared/wire/frames.ts";
import type { FlowSpec } from "../../src/shared/wire/protocol.ts";
import { startRunners } from "../../src/server/workers/supervisor.ts";
import { makeCertificate } from "../config/certificate-maker.ts";
import { HUNG_MS } from "../hung.ts";
import { openBench, toJob, toRunnersOptions, until, type Bench } from "./runners-fixture.ts";

const HELLO = `export default () => "here"`;
const SLOW = `export default ({ log }) => (log.info("begun"), new Promise((resolve) => setTimeout(resolve, 600_000)))`;
/** Ends its runner: V8 aborts where a Map cannot grow. One that is full is no crash: another is filled then. */
const CRASH = `export default () => {
  for (const maps = [new Map()]; ; maps.push(new Map()))
    try { for (let i = 0; ; i++) maps.at(-1).set(i, i); } catch {}
}`;

test("a runner that is killed is replaced, and only its executions end", async () => {
  await using bench = await openBench();
  const spec = bench.flow(SLOW);
  const other = bench.flow(HELLO);
  await bench.run(other);
  const slow = bench.start(spec);
  await until(() => bench.lines.has(slow.id));
  const [pid] = pids(bench);
  process.kill(pid ?? 0, "SIGKILL");
  const lost = await slow.ending;
  assert.equal(lost.status, "ENDED_ERROR");
  assert.match(lost.status_message ?? "", /^Lost with its runner, which was killed from outside/);
  const started = performance.now();
  assert.equal((await bench.run(other)).output_value, '"here"');
  assert.ok(
    performance.now() - started < HUNG_MS,
    `answered after ${performance.now() - started} ms`,
  );
  assert.equal(bench.runners.status().restarts, 1);
});

test("what is being imported as the service closes is not imported once more", async () => {
  await using bench = await openBench({ inspect_ms: 60_000 });
  const endless = "await new Promise(() => {}); export default () => 1;";
  const inspection = bench.runners.inspect(bench.flow(endless));
  await bench.runners[Symbol.asyncDispose]();
  const message = "The service was closed";
  assert.deepEqual(await inspection, { kind: "broken", message, stack: null });
});

test("a version that took a runner down runs in its own, and is broken after three times", async () => {
  await using bench = await openBench({ flowMaxConcurrent: 2 });
  const crash = bench.flow(CRASH, { memory_mb: 256 });
  const other = bench.flow(SLOW);
  const strikes: string[] = [];
  while (bench.broken.length === 0 && strikes.length < 6) {
    strikes.push((await bench.run(crash)).status_message ?? "");
    if (strikes.length === 1) bench.start(other, { id: "beside" });
  }
  assert.equal(strikes.length, 3, strikes.join("; "));
  assert.match(strikes[0] ?? "", /^Lost with its runner, which ended with SIGABRT/);
  assert.equal(bench.broken[0]?.key, crash.key);
  assert.match(bench.broken[0]?.message ?? "", /^Took its runner down 3 times in ten minutes/);
  assert.ok(
    bench.runners.status().runners.some(({ running }) => running === 1),
    "the other one still runs",
  );
});

test("an import that takes its runner down costs no execution", async () => {
  await using bench = await openBench();
  const slow = bench.start(bench.flow(SLOW), { id: "slow" });
  const crash = bench.flow(
    `const all = new Map(); for (let i = 0; ; i++) all.set(i, i); export default () => 1`,
    { memory_mb: 256 },
  );
  const inspection = await bench.runners.inspect(crash);
  assert.equal(inspection.kind, "broken");
  assert.equal(await Promise.race([slow.ending.then(() => "ended"), delay(50, "runs")]), "runs");
});

test("a runner that grows too large takes no more runs, and ends when its last has", async () => {
  await using bench = await openBench({ runnerMemoryMb: 600 });
  const large = bench.flow(
    `export default async () => { const all = []; for (let i = 0; i < 30; i++) all.push(Buffer.alloc(20e6, 1)); await new Promise((r) => setTimeout(r, 1500)); return all.length; }`,
  );
  const other = bench.flow(HELLO);
  const [before] = pids(bench);
  const { ending } = bench.start(large);
  await delay(1000);
  assert.equal((await bench.run(other)).output_value, '"here"');
  assert.equal((await ending).output_value, "30");
  await until(() => !pids(bench).includes(before ?? 0));
});

test("runners end with the server", async () => {
  const script = `
    import { openBench } from ${JSON.stringify(join(import.meta.dirname, "runners-fixture.ts"))};
    const bench = await openBench();
    bench.start(bench.flow("export default () => { for (;;); }"));
    process.stdout.write(JSON.stringify(bench.runners.status().runners.map(({ pid }) => pid)));
  `;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [text] = await once(child.stdout, "data");
  child.kill("SIGKILL");
  const found: number[] = JSON.parse(String(text));
  assert.ok(found.length > 0);
  await until(() => !found.some(isAlive));
});

/** A runner that speaks the protocol and answers as its program says. */
const FAKES = mkdtempSync(join(tmpdir(), "flowhook-fake-"));
after(() => rmSync(FAKES, { recursive: true }));

function fakeRunner(onRun: string, ready = `{ type: "ready" }`): string {
  const file = join(FAKES, `${randomUUID()}.mjs`);
  const [channel, frames, seal] = ["channel", "frames", "seal"].map((name) =>
    JSON.stringify(join(import.meta.dirname, `../../src/shared/wire/${name}.ts`)),
  );
  writeFileSync(
    file,
    `import { Socket } from "node:net"; import { CHANNEL_FD } from ${channel}; import { FrameReader, toFrame } from ${frames}; import { SealReader } from ${seal};
    const channel = new Socket({ fd: CHANNEL_FD, readable: true, writable: true }); const frames = new FrameReader(""); const opener = new SealReader(); let token = "";
    channel.on("close", () => process.exit());
    const send = (messages) => channel.write(toFrame(token, JSON.stringify(messages)));
    channel.on("data", (chunk) => { for (const message of frames.complete(opener.open(chunk)).flatMap((text) => JSON.parse(text))) {
      if (message.type === "setup") { token = message.token; send([${ready}]); }
      const { thread } = message;
      if (message.type === "start") send([{ type: "started", thread }]);
      if (message.type === "forward") { const [, , id] = JSON.parse(message.text.split("\\n")[0]); ${onRun} }
    } });`,
  );
  return file;
}

const FINE = `{ type: "told", thread, text: JSON.stringify(["ended", id, "ENDED_SUCCESS", null, 1, "sound", 1, -1]) + "\\n1" }`;

test("what a runner sends without a known shape is dropped", async () => {
  const runner = fakeRunner(
    `send([null, 7, "x", [], {}, { type: "unknown" }, { type: "__proto__" }, { type: "told", thread }, { type: "told", thread, text: 7 },
      { ...${FINE}, thread: thread + 1 }, { ...${FINE}, thread: "1" },
      { type: "recalled", thread, begun: -1 }, { type: "exited", thread, begun: 1 }, { type: "exited", thread: thread + 1, begun: 1, message: "x" },
      { type: "heartbeat", rss_bytes: "much" }, { type: "inspected", number: 5, inspection: {} }, ${FINE}]);`,
  );
  const asked: unknown[] = [];
  await using bench = await openBench({ runner, sockets: null });
  bench.answer = (request) => (asked.push(request), { ok: false, message: "" });
  assert.equal((await bench.run(bench.flow(HELLO))).output_value, "1");
  assert.deepEqual(asked, []);
});

const DAMAGES: Readonly<Record<string, string>> = {
  garbage: `channel.write("garbage that is no frame");`,
  "a frame without the token": `channel.write(toFrame("", JSON.stringify([${FINE}])));`,
  "a frame that is no JSON": `channel.write(Buffer.concat([Buffer.from([0, 0, 0, 33]), Buffer.from(token + "{")]));`,
  "a frame that is no list": `channel.write(Buffer.concat([Buffer.from([0, 0, 0, 34]), Buffer.from(token + "{}")]));`,
  "a frame of two gigabytes": `channel.write(Buffer.from([127, 255, 255, 255, 0]));`,
};

for (const [name, onRun] of Object.entries(DAMAGES)) {
  test(`a runner that sends ${name} is ended`, async () => {
    await using bench = await openBench({ runner: fakeRunner(onRun), sockets: null });
    const { status, status_message } = await bench.run(bench.flow(HELLO));
    assert.equal(status, "ENDED_ERROR");
    assert.match(
      status_message ?? "",
      /^Lost with its runner, which was ended because its channel was damaged/,
    );
  });
}

test("L15: messages arrive whole, however they are cut", () => {
  const messages = [{ a: "é".repeat(10) }, "\ud800", { b: "x".repeat(100_000) }, []];
  const bytes = toFrame("token", JSON.stringify(messages));
  for (const size of [1, 3, 64, 65_536, bytes.length]) {
    const reader = new FrameReader("token");
    const found: unknown[] = [];
    for (let at = 0; at < bytes.length; at += size)
      found.push(...reader.complete(bytes.subarray(at, at + size)).flatMap(toMessages));
    assert.deepEqual(found, messages, `in chunks of ${size}`);
  }
});

test("a runner that says nothing is replaced", async () => {
  await using bench = await openBench({ runner: fakeRunner(""), sockets: null, silenceMs: 1_000 });
  const { status_message } = await bench.run(bench.flow(HELLO));
  assert.match(status_message ?? "", /which was ended because it was silent for 1 s/);
});

test("a runner that cannot be started is an error of opening", async () => {
  await assert.rejects(openBench({ runner: "/nowhere/runner.ts" }), /A runner was lost/);
});

test("nothing is imported before it is known that threads can be restricted", async () => {
  await using bench = await openBench();
  const runner = fakeRunner("", `{ type: "refused", message: "open: reading files" }`);
  await using runners = await startRunners(toRunnersOptions({ runner }));
  const inspection = runners.inspect(bench.flow(HELLO));
  await assert.rejects(runners.ready(), /open: reading files/);
  assert.deepEqual(await inspection, {
    kind: "broken",
    message: "open: reading files",
    stack: null,
  });
});

test("threads are reused, and idle pools are let go beyond the warm ones", async () => {
  await using bench = await openBench({ flowMaxConcurrent: 2, warmThreads: 3 });
  const counting = `let runs = 0; export default () => (runs += 1)`;
  const first = bench.flow(counting);
  assert.equal((await bench.run(first)).output_value, "1");
  assert.equal((await bench.run(first)).output_value, "2");
  for (let i = 0; i < 5; i++) await bench.run(bench.flow(counting));
  assert.equal((await bench.run(first)).output_value, "1", "its threads had been let go");
  await until(() => (bench.runners.status().runners[0]?.threads ?? 0) <= 3);
});

test("flows have the time zone of the service and believe whom it believes, and see no variable", async () => {
  const { cert, key } = makeCertificate();
  const server = createServer({ cert, key }, (_, response) => response.end("believed"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const file = join(FAKES, "authority.pem");
  writeFileSync(file, cert);
  const code = `export default async () => [new Date(0).getHours(), process.env, await fetch("https://localhost:${port}/").then((found) => found.text(), ({ cause }) => cause.code)];`;
  const told = async (environment: Record<string, string>): Promise<unknown> => {
    await using bench = await openBench({ environment });
    const { output_value } = await bench.run(bench.flow(code, { grants: { net: true } }));
    return JSON.parse(output_value ?? "null");
  };
  assert.deepEqual(await told({ TZ: "UTC" }), [0, {}, "DEPTH_ZERO_SELF_SIGNED_CERT"]);
  const extra = { TZ: "Asia/Tokyo", NODE_EXTRA_CA_CERTS: file };
  assert.deepEqual(await told(extra), [9, {}, "believed"]);
  const system = { TZ: "UTC", NODE_USE_SYSTEM_CA: "1", SSL_CERT_FILE: file };
  assert.deepEqual(await told(system), [0, {}, "believed"]);
});

test("a retired version ends its run and gives up its threads", async () => {
  await using bench = await openBench();
  const spec = bench.flow(
    `export default ({ log }) => (log.info("begun"), new Promise((resolve) => setTimeout(resolve, 100, "done")))`,
  );
  const { id, ending } = bench.start(spec);
  await until(() => bench.lines.has(id));
  bench.runners.retire(spec.key);
  assert.equal((await ending).output_value, '"done"');
  await until(() => (bench.runners.status().runners[0]?.threads ?? 1) === 0);
  assert.equal((await bench.run(spec)).output_value, '"done"', "and comes back where it is needed");
});

test("an abort reaches a run of a version that was retired and came back", async () => {
  await using bench = await openBench();
  const spec = bench.flow(SLOW);
  const first = bench.start(spec);
  await bench.run(bench.flow(HELLO));
  bench.runners.retire(spec.key);
  const second = bench.start(spec);
  for (const { id } of [first, second]) bench.abort(id, "stop");
  for (const { ending } of [first, second]) assert.deepEqual((await ending).status_message, "stop");
});

test("late failures of one execution do not harm the next", async () => {
  await using bench = await openBench({ flowMaxConcurrent: 1 });
  const spec = bench.flow(`
    let runs = 0;
    const next = Promise.withResolvers();
    export default async () => {
      runs += 1;
      if (runs === 1) {
        // Late, however soon the next run begins: while that waits.
        const later = async (act, ms) => { await next.promise; setTimeout(act, ms); };
        void later(() => { throw new Error("late timer"); }, 20); void later(() => Promise.reject(new Error("left behind")), 15); console.log("own"); void later(() => console.log("late line"), 10); return runs;
      }
      next.resolve();
      await new Promise((resolve) => setTimeout(resolve, 100));
      return runs;
    }`);
  assert.equal((await bench.run(spec)).output_value, "1");
  const { id, ending } = bench.start(spec);
  const second = await ending;
  assert.equal(second.status, "ENDED_SUCCESS", second.status_message ?? "");
  assert.equal(second.output_value, "2");
  const warned =
    /^warn A callback that an earlier execution has set up printed, which is in no log\. [^\n]*$/;
  assert.match(bench.log(id), warned, "nothing of what was printed or thrown");
  assert.equal((await bench.run(spec)).output_value, "1", "the thread was replaced afterwards");
});

test("a thread is replaced after an error", async () => {
  await using bench = await openBench({ flowMaxConcurrent: 1 });
  const spec = bench.flow(
    `let runs = 0; export default () => { runs += 1; if (runs === 2) throw new Error("second"); return runs; }`,
  );
  const seen: (string | null)[] = [];
  for (let i = 0; i < 3; i++) {
    const { output_value, status_message } = await bench.run(spec);
    seen.push(output_value ?? status_message);
  }
  assert.deepEqual(seen, ["1", "second", "1"]);
});

test("a prototype that one flow pollutes is clean in another", async () => {
  await using bench = await openBench();
  await bench.run(
    bench.flow(`export default () => { Object.prototype.polluted = 1; globalThis.leak = 2; }`),
  );
  const other = bench.flow(`export default () => [({}).polluted ?? null, globalThis.leak ?? null]`);
  assert.equal((await bench.run(other)).output_value, "[null,null]");
});

test("many executions at once each get their own answer and log", async () => {
  await using bench = await openBench();
  const spec = bench.flow(
    `export default async ({ input_value, execution }) => { console.log(execution.id); await new Promise((r) => setTimeout(r, input_value % 7)); return input_value; }`,
  );
  const runs = Array.from({ length: 200 }, (_, i) => bench.start(spec, { input_value: String(i) }));
  for (const [i, { id, ending }] of runs.entries()) {
    assert.equal((await ending).output_value, String(i));
    assert.equal(bench.log(id), `info ${id}`);
  }
});

test("an abort reaches a run that waits for its thread", async () => {
  await using bench = await openBench({ flowMaxConcurrent: 1 });
  const spec = bench.flow(`export default () => { for (;;); }`);
  const runs = [bench.start(spec), bench.start(spec), bench.start(spec)];
  for (const { id } of runs) bench.abort(id, "stop");
  for (const { ending } of runs) assert.equal((await ending).status_message, "stop");
  bench.abort("nobody", "stop");
});

test("an aborted run may return at once, and its thread is replaced", async () => {
  await using bench = await openBench({ flowMaxConcurrent: 1, cancelGraceMs: 5_000 });
  const spec = bench.flow(
    `let runs = 0; export default ({ signal, input_value }) => { runs += 1; console.log("begun"); return input_value === 0 ? new Promise((r) => signal.addEventListener("abort", () => r(signal.reason.message))) : runs; }`,
  );
  const { id, ending } = bench.start(spec, { input_value: "0" });
  await until(() => bench.lines.has(id));
  bench.abort(id, "stop");
  assert.equal((await ending).output_value, '"stop"');
  assert.equal((await bench.run(spec, { input_value: "1" })).output_value, "1");
});

test("runs that are aborted while they ask for something cost no thread for each", async () => {
  await using bench = await openBench({ flowMaxConcurrent: 1, cancelGraceMs: 5_000 });
  bench.answer = async () => (await delay(5), { ok: true, value: "1" });
  const spec = bench.flow(
    `let runs = 0; export default ({ signal, input_value, setting }) => { runs += 1; if (input_value === 1) return runs; void setting("a"); console.log("begun"); return new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason))); }`,
  );
  let [aborted, runs] = [0, "1"];
  while (aborted < 50 && runs === "1") {
    const { id, ending } = bench.start(spec, { input_value: "0" });
    await until(() => bench.lines.has(id));
    bench.abort(id, "stop");
    assert.equal((await ending).status_message, "stop");
    aborted += 1;
    runs = (await bench.run(spec, { input_value: "1" })).output_value ?? "";
  }
  assert.ok(aborted > 8 && runs === "3", `after ${aborted} its thread had ${runs}`);
});

test("the name of the folder of another version is no key to it", async () => {
  await using bench = await openBench();
  const [short, long] = [join(bench.folder, "data"), join(bench.folder, "data-of-others")];
  for (const folder of [short, long]) {
    mkdirSync(folder);
    writeFileSync(join(folder, "f"), "x");
  }
  const code = (folder: string): string =>
    `import { readFileSync } from "node:fs"; export default () => readFileSync(${JSON.stringify(join(folder, "f"))}, "utf8")`;
  const read = (folder: string): FlowSpec =>
    bench.flow(code(folder), { grants: { read: [short] } });
  assert.equal((await bench.run(read(short))).output_value, '"x"');
  const { status_message } = await bench.run(read(long));
  assert.match(status_message ?? "", /^Cannot read a file without a permission/);
});

function pids(bench: Bench): number[] {
  return bench.runners.status().runners.map(({ pid }) => pid);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("a flow's first run can be aborted while others hold all the threads that are kept", async () => {
  await using bench = await openBench({ warmThreads: 1 });
  const code = `export default ({ log }) => (log.info("begun"), new Promise(() => {}))`;
  const busy = bench.flow(code);
  const held = [bench.start(busy), bench.start(busy)];
  await until(() => held.every(({ id }) => bench.lines.has(id)));
  const first = bench.start(bench.flow(code));
  await until(() => bench.lines.has(first.id));
  bench.abort(first.id, "stop");
  assert.equal((await first.ending).status_message, "stop");
  assert.equal(bench.runners.status().restarts, 0);
});

test("a flow that breaks the code around it costs its thread, and its next run has another", async () => {
  await using bench = await openBench({ flowMaxConcurrent: 1 });
  const spec = bench.flow(`export default ({ input_value }) => {
    if (input_value === "fine") return "fine";
    String.prototype.toWellFormed = () => { throw new Error("broken"); };
    throw new Error("thrown");
  }`);
  assert.equal((await bench.run(spec)).status, "ENDED_ERROR");
  assert.equal((await bench.run(spec, { input_value: '"fine"' })).output_value, '"fine"');
});

test("a spare comes with a run, and is kept while runners are used", async () => {
  await using bench = await openBench({ spareMs: 1500 });
  const count = () => bench.runners.status().runners.length;
  assert.equal(count(), 1);
  const spec = bench.flow(HELLO);
  for (let round = 0; round < 2; round += 1) {
    // It comes with the tidying, which may be late where this process pauses: it is used until then.
    const deadline = performance.now() + HUNG_MS;
    for (; count() === 1 && performance.now() < deadline; await delay(50)) await bench.run(spec);
    assert.equal(count(), 2);
    await until(() => count() === 1);
  }
});

/** As a server that does not get on: what comes meanwhile is read later than timers are. */
function holdUp(ms: number): Promise<void> {
  return new Promise((resolve) =>
    readFile(import.meta.filename, () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
      resolve();
    }),
  );
}

test("why a thread's program cannot be loaded tells no path", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "flowhook-thread-")));
  const thread = join(folder, "thread.cjs");
  writeFileSync(thread, `require("node:fs").readFileSync(__filename + ".missing")`);
  await using bench = await openBench({
    thread,
    readable: [...toRunnersOptions().readable, folder],
  });
  const { status_message } = await bench.run(bench.flow(HELLO));
  rmSync(folder, { recursive: true });
  assert.equal(status_message, "The flow's thread was lost (ENOENT)");
});

test("a thread that cannot be set up costs its run, and no place", async () => {
  await using bench = await openBench();
  const spec = bench.flow(HELLO);
  const room = bench.scheduler.roomOf(spec.flow);
  for (const name of readdirSync(bench.folder))
    if (name.endsWith(".sock")) rmSync(join(bench.folder, name));
  const { status, status_message } = await bench.run(spec);
  assert.equal(status, "ENDED_ERROR");
  assert.equal(status_message, "The flow's thread was lost: it could not be set up (ENOENT)");
  assert.deepEqual(bench.scheduler.counts(), { running: 0, waiting: 0 });
  assert.equal(bench.scheduler.roomOf(spec.flow), room);
});

test("a server that was late blames no flow, and no run", async () => {
  await using bench = await openBench();
  const spec = bench.flow(HELLO, { isolation: "execution" });
  for (let round = 0; round < 3; round += 1) {
    await bench.run(spec);
    await holdUp(2200);
    assert.equal((await bench.run(spec)).status, "ENDED_SUCCESS");
  }
  assert.deepEqual([bench.broken, bench.runners.status().restarts], [[], 0]);

  const slow = bench.flow(
    `export default () => new Promise((done) => setTimeout(done, 300, "in time"))`,
  );
  await bench.run(slow);
  const { promise, resolve } = Promise.withResolvers<string | null>();
  bench.scheduler.enqueue({
    id: "r",
    flow: slow.flow,
    spec: slow,
    job: toJob("r", slow),
    timeoutMs: 1000,
    link: null,
    turn: Infinity,
    abortReason: null,
    returned() {},
    log() {},
    operate: async () => ({ ok: true, value: "null" }),
    expired: () => resolve("expired"),
    ended: ({ output_value }) => resolve(output_value),
  });
  await delay(100);
  await holdUp(2000);
  assert.equal(await promise, '"in time"');
});

test("what comes does not wait for a run that was told to end", async () => {
  await using bench = await openBench({ flowMaxConcurrent: 2, cancelGraceMs: 2 * HUNG_MS });
  const spec = bench.flow(`export default (flow) =>
    flow.input_value.json === 0 ? 0 : flow.setting("waits")`);
  const job = (json: number) => ({ input_value: JSON.stringify({ json }) });
  const held: (() => void)[] = [];
  bench.answer = () => new Promise((resolve) => held.push(() => resolve({ ok: true, value: "1" })));
  const hold = async () => {
    const runs = [bench.start(spec, job(1)), bench.start(spec, job(1))] as const;
    await until(() => held.length === 2);
    return runs;
  };
  for (const at of [0, 1] as const) {
    const warm = await hold();
    for (const answer of held.splice(0)) answer();
    await Promise.all(warm.map(({ ending }) => ending));
    // So that more than one may stand in a thread.
    for (let round = 0; round < 80; round += 1) await bench.run(spec, job(0));
    const runs = await hold();
    bench.abort(runs[at].id, "Cancelled");
    let isDone = false;
    void bench.run(spec, job(0)).then(() => (isDone = true));
    const [cancelled, other] = [held[at], held[1 - at]];
    held.length = 0;
    other?.();
    await until(() => isDone);
    cancelled?.();
    await Promise.all(runs.map(({ ending }) => ending));
  }
});
