import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readForm } from "../../src/server/request/form.ts";

const part = fc.constantFrom(
  "a",
  "b",
  "=",
  "&",
  "+",
  "%41",
  "%",
  "%zz",
  "%C3%A4",
  "%ff",
  "é",
  " ",
  "?",
);

test("H6: a form is read as URLSearchParams reads it", () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      const text = parts.join("");
      // Without the ampersand a question mark at the start would be left out.
      assert.deepEqual([...readForm(text)], [...new URLSearchParams(`&${text}`)]);
    }),
    { numRuns: 2000 },
  );
});

test("H6: five million pairs are read; with a time that grows with their square it would be hours", () => {
  let count = 0;
  for (const _ of readForm("a&".repeat(5_000_000))) count += 1;
  assert.equal(count, 5_000_000);
});
