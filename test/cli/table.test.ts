import assert from "node:assert/strict";
import { test } from "node:test";
import { toJson, toLine, toLines, toTable, toTime, type Column } from "../../src/cli/table.ts";

type Row = readonly [string | null, boolean];

const COLUMNS: readonly Column<Row>[] = [
  { title: "NAME", of: ([name]) => name },
  { title: "ON", of: ([, on]) => on },
];

test("columns are as wide as their widest cell", () => {
  const rows: Row[] = [
    ["short", true],
    ["much longer", false],
    [null, true],
  ];
  assert.equal(
    toTable(rows, COLUMNS),
    "NAME         ON\nshort        yes\nmuch longer  no\n-            yes\n",
  );
});

test("letters that take two columns are counted as two", () => {
  const lines = toTable(
    [
      ["日本", true],
      ["ab", true],
      ["🎉", true],
      ["𠮷野", true],
      ["￥", true],
      ["❤️", true],
      ["e\u0301\u200b", true],
    ],
    COLUMNS,
  ).split("\n");
  assert.deepEqual(lines.slice(1, 8), [
    "日本  yes",
    "ab    yes",
    "🎉    yes",
    "𠮷野  yes",
    "￥    yes",
    "❤️    yes",
    "e\u0301\u200b     yes",
  ]);
});

test("lines are cut to the terminal, and only there", () => {
  const rows: Row[] = [["x".repeat(50), true]];
  assert.match(toTable(rows, COLUMNS), /x{50} {2}yes/);
  assert.equal(toTable(rows, COLUMNS, 20).split("\n")[1], `${"x".repeat(19)}…`);
  assert.equal(
    toTable([["日".repeat(50), true]], COLUMNS, 20).split("\n")[1],
    `${"日".repeat(9)}…`,
  );
  const unknown = toTable(rows, COLUMNS, 0);
  assert.match(unknown, /x{50} {2}yes/, "a terminal that does not tell its width");
});

test("no control character reaches the terminal", () => {
  assert.equal(toLine("a\u001b[2J\u0007b\r\nc\u009b1m"), "a [2J b c 1m");
  assert.equal(toLines("a\u001b[2J\nb\u202ec"), "a [2J\nb c");
  assert.doesNotMatch(toTable([["\u001b]0;title\u0007", true]], COLUMNS), /\u001b|\u0007/);
});

test("nor by JSON, which is the same value all the same", () => {
  const value = "a\u001b[2J\u009b1m\u202eb";
  assert.equal(toJson(value), '"a\\u001b[2J\\u009b1m\\u202eb"');
  assert.equal(JSON.parse(toJson(value)), value);
});

test("times are shown to the second", () => {
  assert.equal(toTime("2026-01-31T09:30:00.123Z"), "2026-01-31 09:30:00Z");
  assert.equal(toTime(null), null);
});
