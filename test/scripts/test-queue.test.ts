import assert from "node:assert/strict";
import { test } from "node:test";
import { LEAST, runQueue, type Queued } from "../../scripts/test-queue.ts";

/** Files that wait until they are told to end, and say when they start. */
function openFiles(weights: readonly Queued["weight"][]) {
  const files = weights.map((weight) => ({
    weight,
    begun: Promise.withResolvers<void>(),
    ended: Promise.withResolvers<void>(),
  }));
  const started: number[] = [];
  const queue = files.map(({ weight, begun, ended }, at) => ({
    weight,
    run() {
      started.push(at);
      begun.resolve();
      return ended.promise;
    },
  }));
  return { files, started, queue };
}

const busy = () => 0;
const idle = () => 1;

test("what needs the machine for itself is first, and nobody is beside it", async () => {
  const { files, started, queue } = openFiles([1, "alone", 1, "alone"]);
  const whole = runQueue(queue, busy);
  for (const at of [1, 3]) {
    await files[at]?.begun.promise;
    assert.equal(started.at(-1), at);
    files[at]?.ended.resolve();
  }
  for (const { ended } of files) ended.resolve();
  await whole;
  assert.deepEqual(started, [1, 3, 0, 2]);
});

test("nobody overtakes what waits for room, and what is too heavy has all of it", async () => {
  const { files, started, queue } = openFiles([LEAST - 1, 100, 1]);
  const whole = runQueue(queue, busy);
  assert.deepEqual(started, [0]);
  files[0]?.ended.resolve();
  await files[1]?.begun.promise;
  assert.deepEqual(started, [0, 1]);
  files[1]?.ended.resolve();
  files[2]?.ended.resolve();
  await whole;
});

test("one more is started while processors are idle", async () => {
  const { files, started, queue } = openFiles(Array.from({ length: LEAST + 1 }, () => 1));
  const whole = runQueue(queue, idle);
  assert.equal(started.length, LEAST);
  await files.at(-1)?.begun.promise;
  for (const { ended } of files) ended.resolve();
  await whole;
});

test("what fails ends the whole", async () => {
  const { files, queue } = openFiles([1, 1]);
  const whole = runQueue(queue, busy);
  files[1]?.ended.reject(new Error("cannot start"));
  await assert.rejects(whole, /cannot start/);
});

test("nothing to run is done at once", () => runQueue([], busy));
