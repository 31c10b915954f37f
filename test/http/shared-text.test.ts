import assert from "node:assert/strict";
import { test } from "node:test";
import { shareText } from "../../src/server/http/shared-text.ts";

/** Counts how often a text of a length is made. */
function open(length: number) {
  const made = { count: 0, at: 0 };
  const make = async (): Promise<string> => {
    made.count += 1;
    const { count } = made;
    await new Promise(setImmediate);
    return `${count}`.padEnd(length);
  };
  return { made, read: shareText(make, () => made.at) };
}

test("who asks while a text is made gets the same", async () => {
  const { made, read } = open(10);
  const texts = await Promise.all([read(), read(), read()]);
  assert.deepEqual([made.count, new Set(texts).size], [1, 1]);
  assert.equal((await read()).trim(), "2");
});

test("a large text is kept for a second", async () => {
  const { made, read } = open(300_000);
  for (const [at, expected] of [
    [0, 1],
    [999, 1],
    [1000, 2],
    [1999, 2],
    [5000, 3],
  ] as const) {
    made.at = at;
    assert.equal((await read()).trim(), String(expected));
  }
});

test("one that could not be made is made again", async () => {
  let isBroken = true;
  const read = shareText(async () => {
    if (isBroken) throw new Error("The disk is gone");
    return "text";
  });
  await assert.rejects(read(), /The disk is gone/);
  isBroken = false;
  assert.equal(await read(), "text");
});
