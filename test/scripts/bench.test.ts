import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { readCpu, toCpuPerCall } from "../../scripts/bench/cpu.ts";
import { startProgram } from "../../scripts/bench/server.ts";
import { judge } from "../../scripts/bench/targets.ts";

/** Works for 300 ms, however busy the machine is. */
const BUSY = `for (let used = 0; used < 300_000; ) {
  const { user, system } = process.threadCpuUsage();
  used = user + system;
}`;
const NO_LINUX = process.platform !== "linux" && "CPU by thread is read on Linux alone";

test("the CPU time of a call has that of threads that have ended", { skip: NO_LINUX }, async () => {
  const code = `${BUSY} require("worker_threads").parentPort.once("message", () => {}).postMessage(1)`;
  const earlier = new Worker(code, { eval: true });
  await once(earlier, "message");
  const own = new Map([[process.pid, "server"]]);
  const before = readCpu(own);
  const begun = process.cpuUsage();
  earlier.postMessage("end");
  await Promise.all([once(earlier, "exit"), once(new Worker(BUSY, { eval: true }), "exit")]);
  const threads = Object.values(toCpuPerCall(before, readCpu(own), 1));
  const { user, system } = process.cpuUsage(begun);
  const sum = threads.reduce((all, us) => all + us, 0);
  const share = sum / (user + system);
  assert.ok(share > 0.8 && share < 1.2, `${sum} of ${user + system} us`);
});

test("a process that has ended has used nothing", { skip: NO_LINUX }, () => {
  assert.deepEqual([...readCpu(new Map([[2 ** 30, "server"]]))], []);
});

test("a program that a signal ends is not waited for", async () => {
  const started = startProgram(() => ["-e", 'process.kill(process.pid, "SIGKILL")']);
  await assert.rejects(started, /ended before it answered/);
});

test("a figure that was not measured misses no target", () => {
  const unmeasured = new Map([["first-start", { first_start_s: Number.NaN }]]);
  assert.deepEqual(judge(new Map(), unmeasured), []);
});

test("a target whose figure has another name is told, not left out", () => {
  assert.deepEqual(judge(new Map(), new Map()), []);
  const renamed = new Map([["first-start", { first_start_ms: 1 }]]);
  assert.throws(() => judge(new Map(), renamed), /"first-start" has no figure "first_start_s"/);
});
