import assert from "node:assert/strict";
import { test } from "node:test";
import { parseYaml } from "../../src/server/webhooks/yaml.ts";

const LIMIT = 100_000;

const FAULTS: readonly [string, string, RegExp][] = [
  ["an open list", "a: [1", /line 1, column 6/],
  ["two documents", "--- 1\n--- 2", /single document/],
  ["a custom tag", "x: !!js/function f", /unknown scalar tag.*line 1, column 4/],
  ["a name twice", "a: 1\na: 2", /duplicated.*line 2, column 1/],
  ["a number that JSON lacks", "a: .nan", /holds the number NaN, which JSON cannot say$/],
  ["nothing", "", /empty/],
];

for (const [name, text, message] of FAULTS)
  test(`a body with ${name} is refused with the reason`, () => {
    assert.throws(() => parseYaml(text, LIMIT), { code: "bad_body", message });
  });

test("aliases work, and cannot make a small body large", () => {
  assert.deepEqual(parseYaml("a: &x [1]\nb: *x", LIMIT), { a: [1], b: [1] });
  const level = (name: string, of: string) => `${name}: &${name} [${`*${of},`.repeat(8)}*${of}]`;
  const bomb = ["a: &a [x,x,x,x,x,x,x,x,x]", level("b", "a"), level("c", "b"), level("d", "c")];
  assert.throws(() => parseYaml([...bomb, level("e", "d")].join("\n"), LIMIT), {
    code: "bad_body",
    message: /too large once its aliases are expanded$/,
  });
});
