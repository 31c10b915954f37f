import assert from "node:assert/strict";
import { test } from "node:test";
import { findNameError, toResourceName } from "../../src/shared/resource-name.ts";

const GOOD = [
  "a",
  "GitHub pushes",
  "Zähler",
  "名前",
  "می\u200cخواهم",
  "👩\u200d🚀",
  "❤\ufe0f",
  "1\ufe0f\u20e3",
  "क्\u200dष",
  "a-b_c.d",
];

for (const name of GOOD)
  test(`a name: ${name}`, () => assert.equal(findNameError(toResourceName(name)), null));

/** Each looks like another name, or like what it is not. */
const DECEIVING = [
  "admin\u200b",
  "admin\u200d",
  "ad\u00admin",
  "\u2060admin",
  "admin\ufe0f",
  "admin\u{e0061}",
  "x\u202enimda",
  "\u2066admin\u2069",
  "ת\u200fadmin",
  "Zoë\u200d",
  "Zoë\u034f",
  "Zoë\u3164",
  "名\u200d前",
  "می\u200c",
  "a\u2028b",
  "a\u2800",
];

for (const name of DECEIVING)
  test(`no name: ${JSON.stringify(name).replaceAll(/[^ -~]/gu, (one) => `<${one.codePointAt(0)?.toString(16)}>`)}`, () =>
    assert.equal(findNameError(toResourceName(name)), "no invisible characters"));

test("blanks at the ends are no part of a name, whatever they are", () => {
  assert.equal(toResourceName("\ufeff a\u00a0"), "a");
});

test("control characters and what has a meaning in a path are refused", () => {
  assert.equal(findNameError("a\u0007"), "no control characters");
  assert.equal(findNameError("a/b"), "none of / \\ ? # %");
  assert.equal(findNameError("x".repeat(129)), "at most 128 characters");
});
