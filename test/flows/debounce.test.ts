import assert from "node:assert/strict";
import { test } from "node:test";
import { Debounce } from "../../src/server/flows/debounce.ts";

test("events that never pause hold nobody up who waits for what was there", async () => {
  let passes = 0;
  let isTaken = false;
  const debounce: Debounce = new Debounce(async () => {
    passes += 1;
    debounce.changed();
    // What was found has not come to rest, and then it takes its time.
    if (passes === 1) return debounce.after(1);
    const take = new Promise<void>((resolve) => setImmediate(resolve));
    debounce.during(take.then(() => void (isTaken = true)));
  });
  debounce.immediately();
  await debounce.settled();
  assert.ok(isTaken);
  debounce.immediately();
  debounce.immediately();
  await debounce.settled();
  assert.ok(passes >= 4, "a pass that is asked for amid another one is waited for");
  await debounce.stop();
  await debounce.settled();
});

test("what is taken by a pass that begins while others are taken is waited for", async () => {
  const taken: number[] = [];
  const takes = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  let passes = 0;
  const debounce: Debounce = new Debounce(async () => {
    const at = passes;
    passes += 1;
    if (at > 3) return;
    debounce.during(takes[at]!.promise.then(() => void taken.push(at)));
    takes[at - 1]?.resolve();
    // Something has not come to rest, until the last.
    if (at < 3) debounce.after(1);
    else setTimeout(() => takes[3]!.resolve(), 20);
  });
  debounce.immediately();
  await debounce.settled();
  assert.deepEqual(taken, [0, 1, 2, 3]);
  await debounce.stop();
});
