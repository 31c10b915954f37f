import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import type { FlowSpec } from "../../src/shared/wire/protocol.ts";
import { DEATHS, Quarantine } from "../../src/server/workers/quarantine.ts";
import type { Worker } from "../../src/server/workers/worker.ts";
import { openBench, until, type Bench } from "./runners-fixture.ts";

/** A runner that dies takes as few with it as can be, and only its cause is blamed for it. */

const HELLO = `export default () => "here"`;
/** V8 aborts the process where a Map cannot grow. One that is full is no crash: another is filled then. */
const CRASH = `export default () => {
  for (const maps = [new Map()]; ; maps.push(new Map()))
    try { for (let i = 0; ; i++) maps.at(-1).set(i, i); } catch {}
}`;
const HELD = `import { pbkdf2Sync } from "node:crypto"; export default () => console.log("held") ?? pbkdf2Sync("a", "b", 2 ** 31 - 1, 64, "sha512").length`;
const LEAVES_BEHIND = `import { pbkdf2 } from "node:crypto"; export default () => { for (let i = 0; i < 64; i++) pbkdf2("a", "b", 2 ** 31 - 1, 64, "sha512", () => {}); return "left"; }`;
/** Ends when a line of another tells that the way is free. */
const PATIENT = `export default async (flow) => { console.log("waits"); while (await flow.setting("free") !== true) await new Promise((r) => setTimeout(r, 10)); return "done"; }`;
const ZIPS = `import { gzip } from "node:zlib"; import { promisify } from "node:util"; export default async () => (await promisify(gzip)("x")).length`;

test("C3: who was in a runner that died is not broken by it, and its cause is", async () => {
  await using bench = await openBench({ flowMaxConcurrent: 2 });
  const innocent = Array.from({ length: 4 }, () => bench.flow(PATIENT));
  const crash = bench.flow(CRASH, { memory_mb: 256 });
  bench.answer = () => ({ ok: true, value: "false" });
  for (let deaths = 0; bench.broken.length === 0 && deaths < 2 * DEATHS; deaths += 1) {
    const runs = await startAll(bench, innocent, `of-${deaths}`);
    await bench.run(crash);
    for (const { id } of runs) bench.abort(id, "over");
    await Promise.all(runs.map(({ ending }) => ending));
  }
  assert.deepEqual(
    bench.broken.map(({ key }) => key),
    [crash.key],
  );
  bench.answer = () => ({ ok: true, value: "true" });
  for (const spec of innocent) assert.equal((await bench.run(spec)).output_value, '"done"');
});

test("a thread that does not end costs its runner, and those who run beside it nothing", async () => {
  await using bench = await openBench();
  const before = bench.runners.status().runners[0]?.pid;
  bench.answer = () => ({ ok: true, value: "false" });
  const [beside] = await startAll(bench, [bench.flow(PATIENT)], "beside");
  const held = bench.start(bench.flow(HELD));
  await until(() => bench.log(held.id).includes("held"));
  bench.abort(held.id, "stop");
  assert.equal((await held.ending).status_message, "stop");
  assert.equal((await bench.run(bench.flow(HELLO))).output_value, '"here"');
  assert.ok(pids(bench).includes(before));
  bench.answer = () => ({ ok: true, value: "true" });
  assert.equal((await beside?.ending)?.output_value, '"done"');
  await until(() => !pids(bench).includes(before));
  assert.deepEqual(bench.broken, []);
});

test("threads that are ended as soon as they have started take nobody with them", async () => {
  await using bench = await openBench();
  const spec = bench.flow(HELLO);
  let gone = 0;
  const nothing = (): void => {};
  const onReady = (worker: Worker): void => worker.end();
  const onCrashed = (): void => void (gone += 1);
  const others = { onEnded: nothing, onStray: nothing, onRecalled: nothing };
  const events = { onReady, onCrashed, onFailed: onCrashed, ...others };
  for (let at = 0; at < 12; at += 1) bench.runners.startWorker(spec, events);
  await until(() => gone === 12);
  assert.equal(bench.runners.status().restarts, 0);
});

test("H4: native calls left behind hold up others for seconds, and break none of them", async () => {
  await using bench = await openBench();
  const zips = bench.flow(ZIPS);
  const patient = bench.flow(PATIENT);
  await bench.run(zips);
  const before = bench.runners.status().runners[0]?.pid;
  bench.answer = () => ({ ok: true, value: "false" });
  const [beside] = await startAll(bench, [patient], "beside");
  assert.equal((await bench.run(bench.flow(LEAVES_BEHIND))).output_value, '"left"');
  const waiting = bench.start(zips);
  // Until the probe has told, further runs wait there too; then they are elsewhere.
  await until(() => bench.runners.status().runners.length > 2 || !pids(bench).includes(before));
  assert.notEqual((await bench.run(zips)).output_value, null);
  await waiting.ending;
  bench.answer = () => ({ ok: true, value: "true" });
  await beside?.ending;
  for (const spec of [zips, patient]) assert.notEqual((await bench.run(spec)).output_value, null);
  assert.deepEqual(bench.broken, []);
});

/** More than its runner may have, outside of the heap: it keeps that until it is seen, however late. */
const GROWS = `const all = []; for (let n = 0; n < 100; n++) all.push(Buffer.alloc(16 * 1024 * 1024, 1)); await new Promise(() => {}); export default () => 1`;
const SLOW_IMPORT = `await new Promise((done) => setTimeout(done, 700)); export default () => "here"`;

test("C3: an import that takes its runner down breaks nothing that is imported beside it", async () => {
  // Longer than an import takes that ends by itself, on however busy a machine.
  await using bench = await openBench({ inspect_ms: 60_000 });
  const [grows, ...innocent] = await Promise.all(
    [GROWS, SLOW_IMPORT, SLOW_IMPORT, HELLO].map((code) => bench.runners.inspect(bench.flow(code))),
  );
  assert.equal(grows?.kind, "broken");
  assert.deepEqual(
    innocent.map(({ kind }) => kind),
    ["flow", "flow", "flow"],
  );
  assert.equal((await bench.runners.inspect(bench.flow(HELLO))).kind, "flow");
  assert.equal((await bench.run(bench.flow(HELLO))).output_value, '"here"');
});

const HELD_IMPORT = `import { pbkdf2Sync } from "node:crypto"; pbkdf2Sync("a", "b", 2 ** 31 - 1, 64, "sha512"); export default () => 1`;

test("H4: an import that a native call holds costs its runner, and those who run nothing", async () => {
  await using bench = await openBench({ inspect_ms: 1000 });
  const [shared] = pids(bench);
  bench.answer = () => ({ ok: true, value: "false" });
  const [beside] = await startAll(bench, [bench.flow(PATIENT)], "beside");
  const inspecting = bench.runners.inspect(bench.flow(HELD_IMPORT));
  await until(() => pids(bench).length > 1);
  const spare = pids(bench).find((pid) => pid !== shared);
  assert.equal((await inspecting).kind, "broken");
  await until(() => !pids(bench).includes(spare));
  assert.ok(pids(bench).includes(shared));
  bench.answer = () => ({ ok: true, value: "true" });
  assert.equal((await beside?.ending)?.output_value, '"done"');
  assert.deepEqual(bench.broken, []);
});

test("H4: fewer native calls than there are places, left behind, cost their runner too", async () => {
  await using bench = await openBench();
  const zips = bench.flow(ZIPS);
  await bench.run(zips);
  const before = bench.runners.status().runners[0]?.pid;
  const leaves = bench.flow(LEAVES_BEHIND.replace("i < 64", "i < 3"));
  assert.equal((await bench.run(leaves)).output_value, '"left"');
  await until(() => !pids(bench).includes(before));
  assert.notEqual((await bench.run(zips)).output_value, null);
  assert.deepEqual(bench.broken, []);
});

/** Takes most of what its process may have open, and leaves it. */
const OPENS = `import { createServer } from "node:net";
  export default async () => { const all = []; for (let n = 0; n < 100_000; n++) try { const server = createServer(); server.listen(0); await new Promise((done, fail) => server.once("listening", done).once("error", fail)); all.push(server); } catch { break; } return all.length; }`;

test("L12: a runner whose files are taken takes no more runs", async () => {
  execFileSync("prlimit", [`--pid=${process.pid}`, "--nofile=3000:3000"]);
  await using bench = await openBench();
  const before = bench.runners.status().runners[0]?.pid;
  bench.answer = () => ({ ok: true, value: "false" });
  const [beside] = await startAll(bench, [bench.flow(PATIENT)], "beside");
  const opens = bench.start(bench.flow(OPENS, { grants: { net: true } }));
  assert.ok(Number((await opens.ending).output_value) > 2000);
  await until(() => pids(bench).length > 2 || !pids(bench).includes(before));
  assert.equal((await bench.run(bench.flow(HELLO))).output_value, '"here"');
  bench.answer = () => ({ ok: true, value: "true" });
  assert.equal((await beside?.ending)?.output_value, '"done"');
  await until(() => !pids(bench).includes(before));
  assert.equal(bench.runners.status().restarts, 0);
  assert.deepEqual(bench.broken, []);
});

test("who was in more deaths is apart first, and is forgiven after the window", () => {
  const quarantine = new Quarantine();
  assert.equal(quarantine.placeOf("a", 0), "everybody");
  for (const key of ["a", "b", "c", "d", "e", "f"]) quarantine.note(key, 0, false);
  quarantine.note("f", 1, false);
  const places = (at: number) =>
    ["a", "b", "c", "d", "e", "f"].map((key) => quarantine.placeOf(key, at));
  assert.deepEqual(places(2), ["alone", "alone", "alone", "quarantined", "quarantined", "alone"]);
  assert.equal(quarantine.note("f", 3, true), false);
  assert.equal(quarantine.note("f", 4, true), false);
  assert.equal(quarantine.note("f", 5, true), true);
  const later = 11 * 60_000;
  assert.deepEqual(places(later), [...Array.from({ length: 5 }, () => "everybody"), "alone"]);
});

async function startAll(bench: Bench, specs: readonly FlowSpec[], name: string) {
  const runs = specs.map((spec, at) => bench.start(spec, { id: `${name}-${at}` }));
  await until(() => runs.every(({ id }) => bench.log(id).includes("waits")));
  return runs;
}

function pids(bench: Bench): (number | undefined)[] {
  return bench.runners.status().runners.map(({ pid }) => pid);
}
