import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { listPages } from "../../src/assets/manual.ts";
import { toTerminal } from "../../src/cli/terminal-page.ts";

const show = (text: string, columns = 40) =>
  stripVTControlCharacters(toTerminal({ text }, columns)).trimEnd();

describe("a page on a terminal", () => {
  test("paragraphs and items are wrapped, without the signs of Markdown", () => {
    const words = "`one` **two** [three](./flows.md) four five six seven eight nine";
    assert.equal(show(words), "one two three four five six seven eight\nnine");
    assert.equal(
      show("- one two three four five six seven eight nine\n- ten"),
      "- one two three four five six seven\n  eight nine\n- ten",
    );
    assert.equal(show("# `A` **b**\n\nc"), "A b\n\nc");
    assert.equal(show("`{a: [b](c)}`"), "{a: [b](c)}");
  });

  test("code keeps its lines, empty ones too", () => {
    assert.equal(show("```ts\na\n\n  # b\n```\n\nc"), "    a\n\n      # b\n\nc");
  });

  test("a narrow table has columns, a wide one becomes a list", () => {
    const table = "| Key | Meaning |\n| --- | --- |\n| `A` | this \\| that |\n| BB | c |";
    assert.equal(show(table), "Key  Meaning\nA    this | that\nBB   c");
    const wide =
      "| Key | Default | Meaning |\n|---|---|---|\n| A | 1 | one two three four five six |";
    assert.equal(
      show(wide, 20),
      "A\n  Default: 1\n  Meaning: one two\n    three four five\n    six",
    );
  });

  test("a terminal that does not tell its width gets lines that can be read", () => {
    assert.equal(show("one two three", 0), "one two three");
  });

  test("every page fits: only code and single words are longer than the line", () => {
    for (const page of listPages()) {
      const lines = show(page.text, 80).split("\n");
      const long = lines.filter((line) => line.length > 80 && !line.startsWith("    "));
      assert.deepEqual(
        long.filter((line) => line.trim().split(" ").length > 1),
        [],
        page.name,
      );
    }
  });

  test("no page loses a word", () => {
    const wordsOf = (text: string) => text.match(/[\p{L}\p{N}]{3,}/gu) ?? [];
    for (const page of listPages()) {
      const shown = new Set(wordsOf(show(page.text, 80)));
      // Where rows become items, their first cell says what it is without the head of the table.
      const read = page.text.replace(/\]\([^)]*\)|^```\w*$|^\|.*\n(?=\| ?---)/gm, "");
      assert.deepEqual(
        wordsOf(read).filter((word) => !shown.has(word)),
        [],
        page.name,
      );
    }
  });
});
