import assert from "node:assert/strict";
import { test } from "node:test";
import { findPlace } from "../../src/shared/error-place.ts";
import type { LogLevel, LogLine } from "../../src/shared/wire/protocol.ts";

const line = (text: string, level: LogLevel = "error"): LogLine => ({ at: 0, level, text });

test("the place is that of the first frame of the newest error with a stack", () => {
  const stack = "TypeError: no\n    at helper (lib/helper.ts:3:25)\n    at default (bad.ts:2:40)";
  const rows: [readonly LogLine[], string | null][] = [
    [[line(stack)], "lib/helper.ts:3:25"],
    [[line("Error: x\n    at bad.ts:1:7")], "bad.ts:1:7"],
    [[line("Error: x\n    at bad.ts:1:7 {\n  code: 'E'\n}")], "bad.ts:1:7"],
    [[line("Error: x\n    at Object.run (bad.ts:1:7) {\n  code: 'E'\n}")], "bad.ts:1:7"],
    [[line("Error: x\n    at run (my größe (1).ts:2:9)")], "my größe (1).ts:2:9"],
    [[line("Error: x\n    at async my größe (1).ts:2:9")], "my größe (1).ts:2:9"],
    [[line("Error: x\n    at eval (eval at run (a.ts:1:2), <anonymous>:1:3)")], null],
    [[line("Error: x\n    at async Promise.all (index 0)")], null],
    [[line(stack), line("no stack")], "lib/helper.ts:3:25"],
    [[line(stack), line("Error: y\n    at b.ts:1:1")], "b.ts:1:1"],
    [[line(stack, "info")], null],
    [[line("failed")], null],
    [[], null],
  ];
  for (const [lines, expected] of rows) assert.equal(findPlace(lines), expected);
});

test("a text made to be slow is not", () => {
  const hostile = `Error\n    at ${"(:1:1".repeat(200_000)}`;
  const tries = Array.from({ length: 3 }, () => {
    const began = performance.now();
    assert.equal(findPlace([line(hostile)]), null);
    return performance.now() - began;
  });
  // The quickest: a machine may pause in any one of them.
  assert.ok(Math.min(...tries) < 2000, "each place is looked at once");
});
