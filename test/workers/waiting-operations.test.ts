import assert from "node:assert/strict";
import { test } from "node:test";
import { WaitingOperations } from "../../src/server/workers/waiting-operations.ts";
import { MAX_WAITING_BYTES, type OperationRequest } from "../../src/shared/wire/protocol.ts";

function ask(length: number): OperationRequest {
  return { id: "a", name: "start_execution", value: "x".repeat(length), is_waited: false } as never;
}

test("a value is held until its answer, and its place until that has left", () => {
  const waiting = new WaitingOperations(MAX_WAITING_BYTES + 2);
  assert.equal(waiting.add(0, ask(MAX_WAITING_BYTES + 1)), true);
  assert.equal(waiting.add(1, ask(1)), false, "16 MB wait");
  waiting.answered(0);
  assert.equal(waiting.add(0, ask(1)), false, "its number is still used");
  assert.equal(waiting.add(1, ask(1)), true);
  waiting.left(0);
  assert.equal(waiting.add(0, ask(1)), true);
});

test("a name alone is none of what waits, as the thread counts it", () => {
  const waiting = new WaitingOperations(MAX_WAITING_BYTES);
  assert.equal(waiting.add(0, ask(MAX_WAITING_BYTES)), true);
  const alone = { ...ask(0), name: "setting", value: null };
  for (const number of [1, 2, 3]) assert.equal(waiting.add(number, alone), true);
});

test("a thread that reads no answers is not asked for ever", () => {
  const waiting = new WaitingOperations(10);
  let count = 0;
  for (; count < 10_000 && waiting.add(count, ask(1)); count += 1) waiting.answered(count);
  assert.equal(count, 1000);
});
