import assert from "node:assert/strict";
import { test } from "node:test";
import { escapeUnseen, splitUnseen } from "../../src/shared/unseen.ts";

const unseenIn = (text: string) =>
  splitUnseen(text)
    .filter(({ isUnseen }) => isUnseen)
    .map((piece) => piece.text);

test("what is not seen is told apart, and nothing of the text is lost", () => {
  const rows: [string, string[]][] = [
    ["", []],
    ["no stock\n\tof 'lamp'\r\n", []],
    ["می\u200cخواهم 👩\u200d🚀 ❤\ufe0f 1\ufe0f\u20e3", []],
    ["paid \u202e000,1\u202c", ["\u202e", "\u202c"]],
    [
      "\u2066a\u2069\u200e\u200f\u200b\u00ad",
      ["\u2066", "\u2069", "\u200e", "\u200f", "\u200b", "\u00ad"],
    ],
    ["a\u{e0061}b\u2028", ["\u{e0061}", "\u2028"]],
    ["\u001b[31m\u0000\u007f\u0085", ["\u001b", "\u0000", "\u007f", "\u0085"]],
    ["👩\u200d🚀\u200d", ["\u200d"]],
    ["\u200b\u200b a\u200b\u200c\u200c", ["\u200b\u200b", "\u200b", "\u200c\u200c"]],
    ["\u{e0061}\u{e0061}\u{e0062}", ["\u{e0061}\u{e0061}", "\u{e0062}"]],
  ];
  for (const [text, unseen] of rows) {
    assert.deepEqual(unseenIn(text), unseen, JSON.stringify(text));
    assert.equal(
      splitUnseen(text)
        .map((piece) => piece.text)
        .join(""),
      text,
    );
  }
});

test("a text of a caller has no more pieces than are shown", () => {
  assert.equal(splitUnseen("\u200b".repeat(349_000)).length, 1);
  const text = "a\u200bb\u200c".repeat(100_000);
  const pieces = splitUnseen(text, 2);
  assert.deepEqual(pieces.slice(0, -1), [
    { text: "a", isUnseen: false },
    { text: "\u200b", isUnseen: true },
    { text: "b", isUnseen: false },
    { text: "\u200c", isUnseen: true },
    { text: "a", isUnseen: false },
  ]);
  const rest = { text: text.slice("a\u200bb\u200ca".length), isUnseen: true, isRest: true };
  assert.deepEqual(pieces.at(-1), rest);
  assert.deepEqual(splitUnseen("a\u200bb", 1).at(-1), { text: "b", isUnseen: false });
});

test("JSON with escapes means the same", () => {
  const value = { "a\u202eb": ["\u{e0061}", "\u200b", "👩\u200d🚀", "\u007f"] };
  const json = escapeUnseen(JSON.stringify(value));
  assert.equal(json, String.raw`{"a\u202eb":["\udb40\udc61","\u200b","👩‍🚀","\u007f"]}`);
  assert.deepEqual(JSON.parse(json), value);
});
