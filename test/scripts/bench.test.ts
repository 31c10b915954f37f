import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { readCpu, toCpuPerCall } from "../../scripts/bench/cpu.ts";
import { judge } from "../../scripts/bench/targets.ts";

const NO_LINUX = process.platform !== "linux" && "CPU by thread is read on Linux alone";

test("the CPU time of a call has that of threads that have ended", { skip: NO_LINUX }, async () => {
  const own = new Map([[process.pid, "server"]]);
  const before = readCpu(own);
  const begun = process.cpuUsage();
  const code = "for (const end = performance.now() + 300; performance.now() < end; );";
  await once(new Worker(code, { eval: true }), "exit");
  const threads = Object.values(toCpuPerCall(before, readCpu(own), 1));
  const { user, system } = process.cpuUsage(begun);
  const sum = threads.reduce((all, us) => all + us, 0);
  assert.ok(sum > 0.8 * (user + system), `${sum} of ${user + system} us`);
});

test("a process that has ended has used nothing", { skip: NO_LINUX }, () => {
  assert.deepEqual([...readCpu(new Map([[2 ** 30, "server"]]))], []);
});

test("a target whose figure has another name is told, not left out", () => {
  assert.deepEqual(judge(new Map(), new Map()), []);
  const renamed = new Map([["first-start", { first_start_ms: 1 }]]);
  assert.throws(() => judge(new Map(), renamed), /"first-start" has no figure "first_start_s"/);
});
