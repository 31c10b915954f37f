import assert from "node:assert/strict";
import { test } from "node:test";
import { Slots } from "../../src/executions/slots.ts";

test("waiting flows take turns, and within a flow the first comes first", () => {
  const slots = new Slots({ total: 1, per_flow: 1, ahead: () => 0 });
  const granted: string[] = [];
  assert.ok(slots.tryTake("a"));
  for (const id of ["a1", "a2", "b1", "a3", "b2"])
    slots.wait(id.slice(0, 1), id, () => granted.push(id));
  assert.equal(slots.waiting, 5);
  for (let turn = 0; turn < 5; turn += 1) slots.release(granted.at(-1)?.slice(0, 1) ?? "a");
  assert.deepEqual(granted, ["a1", "b1", "a2", "b2", "a3"]);
});

test("one flow never has more than its share", () => {
  const slots = new Slots({ total: 4, per_flow: 2, ahead: () => 0 });
  assert.deepEqual(
    ["a", "a", "a", "b"].map((flow) => slots.tryTake(flow)),
    ["thread", "thread", null, "thread"],
  );
});

test("M12: the last free slot is kept for a flow that has none", () => {
  const slots = new Slots({ total: 4, per_flow: 2, ahead: () => 0 });
  const taken = ["a", "a", "b", "b", "c", "d"].map((flow) => [
    slots.isFree(flow),
    slots.tryTake(flow),
  ]);
  assert.deepEqual(taken, [
    [true, "thread"],
    [true, "thread"],
    [true, "thread"],
    [false, null],
    [true, "thread"],
    [false, null],
  ]);
});

test("M12: who has slots already waits for the last one, and others pass by", () => {
  const slots = new Slots({ total: 2, per_flow: 2, ahead: () => 0 });
  const granted: string[] = [];
  assert.ok(slots.tryTake("a"));
  slots.wait("a", "a1", () => granted.push("a1"));
  slots.wait("b", "b1", () => granted.push("b1"));
  assert.deepEqual(granted, ["b1"]);
  slots.release("a");
  assert.deepEqual(granted, ["b1", "a1"]);
});

test("a single slot is for everybody, and a flow alone is given more behind those it may have", () => {
  const one = new Slots({ total: 1, per_flow: 1, ahead: () => 0 });
  assert.equal(one.tryTake("a"), "thread");
  const two = new Slots({ total: 2, per_flow: 2, ahead: () => 1 });
  assert.deepEqual(
    [two.tryTake("a"), two.tryTake("a"), two.tryTake("a")],
    ["thread", "ahead", null],
  );
});

test("nobody passes by those who wait for the same flow", () => {
  const slots = new Slots({ total: 2, per_flow: 1, ahead: () => 0 });
  assert.ok(slots.tryTake("a"));
  slots.wait("a", "a1", () => {});
  assert.ok(!slots.tryTake("a"));
  assert.ok(slots.tryTake("b"));
});

test("who has withdrawn is not granted, and a stop grants nobody", () => {
  const slots = new Slots({ total: 1, per_flow: 1, ahead: () => 0 });
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

test("a flow that has all its threads is given more, which take over from those that end", () => {
  const slots = new Slots({ total: 4, per_flow: 1, ahead: () => 2 });
  assert.deepEqual(
    Array.from({ length: 4 }, () => slots.tryTake("a")),
    ["thread", "ahead", "ahead", null],
  );
  assert.deepEqual([slots.running, slots.granted, slots.held("a")], [1, 3, 3]);
  slots.release("a");
  assert.deepEqual([slots.running, slots.granted], [1, 2]);
  slots.release("a");
  assert.deepEqual([slots.running, slots.granted], [1, 1]);
  slots.release("a");
  assert.deepEqual([slots.running, slots.granted, slots.held("a")], [0, 0, 0]);
});

test("nobody is ahead while another flow waits", () => {
  const slots = new Slots({ total: 1, per_flow: 1, ahead: () => 2 });
  const granted: string[] = [];
  assert.equal(slots.tryTake("a"), "thread");
  slots.wait("b", "b1", () => granted.push("b1"));
  slots.wait("a", "a1", (seat) => granted.push(`a1 ${seat}`));
  assert.deepEqual(granted, []);
  slots.release("a");
  assert.deepEqual(granted, ["b1"]);
});
