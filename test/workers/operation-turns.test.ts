import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { OperationTurns } from "../../src/server/workers/operation-turns.ts";

test("operations of all threads begin some in each turn, in turns and in their order", async () => {
  const turns = new OperationTurns();
  const begun: string[] = [];
  const ask = (thread: { readonly name: string }, count: number): void => {
    for (let at = 0; at < count; at += 1)
      turns.add(thread, () => void begun.push(`${thread.name}${at}`));
  };
  const [a, b] = [{ name: "a" }, { name: "b" }];
  ask(a, 40);
  assert.equal(begun.length, 8, "at once, as long as there are few");
  ask(b, 3);
  await turn();
  assert.equal(begun.slice(8).join(" "), "a8 b0 a9 b1 a10 b2 a11 a12");
  await turn();
  assert.equal(begun.length, 24);
  turns.hurry(a);
  assert.equal(begun.length, 43);
  assert.deepEqual(
    begun.filter((one) => one.startsWith("a")),
    Array.from({ length: 40 }, (_, at) => `a${at}`),
  );
  await turn();
  ask(b, 1);
  assert.equal(begun.length, 44, "whoever asks next does not wait");
});
