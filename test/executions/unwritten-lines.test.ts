import assert from "node:assert/strict";
import { test } from "node:test";
import { UnwrittenLines } from "../../src/server/executions/unwritten-lines.ts";
import type { LogLine } from "../../src/shared/wire/protocol.ts";

const line = (text: string): LogLine => ({ at: 1, level: "info", text });
const texts = (lines: readonly LogLine[]) => lines.map(({ text }) => text);

test("lines wait in the order in which they came, each execution's by themselves", () => {
  const unwritten = new UnwrittenLines();
  unwritten.add("one", [line("a"), line("b")]);
  unwritten.add("other", [line("c")]);
  unwritten.add("one", [line("d")]);
  assert.ok(unwritten.has("one"));
  assert.deepEqual(texts(unwritten.take("one")), ["a", "b", "d"]);
  assert.ok(!unwritten.has("one"));
  assert.deepEqual(unwritten.take("one"), []);
  assert.deepEqual(texts(unwritten.take("other")), ["c"]);
});

test("what has no room is missing, told at its place, and keeps no others out for ever", () => {
  const unwritten = new UnwrittenLines(200);
  const long = line("x".repeat(100));
  unwritten.add("one", [long, long, line("short")]);
  const [first, told, ...rest] = unwritten.take("one");
  assert.deepEqual(first, long);
  assert.equal(told?.level, "warn");
  assert.match(told?.text ?? "", /^2 lines are missing here: /);
  assert.deepEqual(rest, []);
  unwritten.add("other", [long]);
  assert.deepEqual(unwritten.take("other"), [long]);
});
