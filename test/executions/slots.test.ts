import assert from "node:assert/strict";
import { test } from "node:test";
import { Slots } from "../../src/executions/slots.ts";

test("waiting flows take turns, and within a flow the first comes first", () => {
  const slots = new Slots({ total: 1, per_flow: 1 });
  const granted: string[] = [];
  assert.ok(slots.tryTake("a"));
  for (const id of ["a1", "a2", "b1", "a3", "b2"])
    slots.wait(id.slice(0, 1), id, () => granted.push(id));
  assert.equal(slots.waiting, 5);
  for (let turn = 0; turn < 5; turn += 1) slots.release(granted.at(-1)?.slice(0, 1) ?? "a");
  assert.deepEqual(granted, ["a1", "b1", "a2", "b2", "a3"]);
});

test("one flow never has more than its share", () => {
  const slots = new Slots({ total: 4, per_flow: 2 });
  assert.deepEqual(
    ["a", "a", "a", "b"].map((flow) => slots.tryTake(flow)),
    [true, true, false, true],
  );
});

test("nobody passes by those who wait for the same flow", () => {
  const slots = new Slots({ total: 2, per_flow: 1 });
  assert.ok(slots.tryTake("a"));
  slots.wait("a", "a1", () => {});
  assert.ok(!slots.tryTake("a"));
  assert.ok(slots.tryTake("b"));
});

test("who has withdrawn is not granted, and a stop grants nobody", () => {
  const slots = new Slots({ total: 1, per_flow: 1 });
  const granted: string[] = [];
  slots.tryTake("a");
  slots.wait("a", "a1", () => granted.push("a1"));
  slots.wait("a", "a2", () => granted.push("a2"));
  assert.ok(slots.withdraw("a", "a1"));
  assert.ok(!slots.withdraw("a", "a1"));
  slots.release("a");
  assert.deepEqual(granted, ["a2"]);
  slots.wait("a", "a3", () => granted.push("a3"));
  slots.stop();
  slots.release("a");
  assert.deepEqual(granted, ["a2"]);
  assert.equal(slots.waiting, 1);
});
