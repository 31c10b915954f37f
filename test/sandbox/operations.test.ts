import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import type { OperationAnswer } from "../../src/shared/wire/protocol.ts";
import { openBench } from "../runner/runners-fixture.ts";

/** Values of operations lie in the server's memory until they are answered. */

const ROOT = resolve(import.meta.dirname, "../..");
const LARGE = { max_input_bytes: 10_000_000 };

const AT_ONCE = `export default async (flow) => {
  const value = "x".repeat(9e6); const settled = await Promise.allSettled(Array.from({ length: 60 }, () => flow.start_execution("nobody", value)));
  const again = await flow.start_execution("nobody", value);
  return [again, [...new Set(settled.map(({ status, reason }) => reason?.message ?? status))], settled.filter(({ status }) => status === "fulfilled").length];
}`;

test("H5: a flow's operations that wait hold 16 MB and the latest at most", async () => {
  await using bench = await openBench(LARGE);
  bench.answer = () => ({ ok: true, value: '"started"' });
  const { output_value, status_message } = await bench.run(bench.flow(AT_ONCE, { memory_mb: 256 }));
  const refused =
    "Operations with more than 16777216 bytes wait for an answer: await them before the next";
  assert.deepEqual(
    JSON.parse(output_value ?? "null"),
    ["started", ["fulfilled", refused], 2],
    status_message ?? "",
  );
});

const IN_TURN = `export default async (flow) => {
  const value = "x".repeat(1e6); let count = 0;
  const loop = async () => { for (let turn = 0; turn < 4; turn += 1) { const { length } = await flow.start_execution("echo", value); count += length; } };
  await Promise.all(Array.from({ length: 16 }, loop));
  return count;
}`;

test("large values with large answers are asked on and on, as long as few wait", async () => {
  await using bench = await openBench(LARGE);
  const { output_value, status_message } = await bench.run(bench.flow(IN_TURN, { memory_mb: 512 }));
  assert.deepEqual([output_value, status_message], [String(64e6), null]);
});

/** A thread's program that heeds no limit: two are asked, and the third ends the thread. */
const HEEDLESS = `import { MessageChannel, parentPort } from "node:worker_threads";
const { port1, port2 } = new MessageChannel();
parentPort.postMessage({ port: port2 }, [port2]);
const say = (head, text) => port1.postMessage(JSON.stringify(head) + "\\n" + text);
port1.on("message", (text) => {
  const [type, , id] = JSON.parse(text.split("\\n", 1)[0]);
  if (type !== "run") return;
  for (let number = 0; number < 5; number += 1) say(["operation", number, id, "start_execution", "nobody", false, 9e6], "x".repeat(9e6));
});
export default async function perform() {
  await new Promise(() => {});
}
`;

test("H5: a thread that does not heed it is ended by the server", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "flowhook-thread-")));
  const thread = join(folder, "thread.mjs");
  writeFileSync(thread, HEEDLESS);
  const readable = [join(ROOT, "src"), join(ROOT, "node_modules"), folder];
  const { promise, resolve: answer } = Promise.withResolvers<OperationAnswer>();
  await using bench = await openBench({ ...LARGE, readable, thread, sockets: null });
  let asked = 0;
  bench.answer = () => ((asked += 1), promise);
  const { status_message } = await bench.run(bench.flow("", { memory_mb: 512 }));
  answer({ ok: true, value: "null" });
  rmSync(folder, { recursive: true });
  assert.equal(asked, 2, status_message ?? "");
  // The second is said of a thread whose end takes long, as that of this much memory may.
  assert.match(status_message ?? "", /^The flow's thread was lost$|^A thread of .* did not end$/);
});
