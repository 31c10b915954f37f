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
