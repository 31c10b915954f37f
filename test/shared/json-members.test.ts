import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseExactly } from "../../src/shared/parse-exactly.ts";
import { membersOf } from "../../src/server/request/json-members.ts";

function readAll(text: string): [string, unknown][] {
  return [...membersOf(text)].map(({ name, valueStart, end }) => [
    name,
    parseExactly(text.slice(valueStart, end)),
  ]);
}

const name = fc.oneof(fc.constantFrom("key", "", '"', "\\", "__proto__", "a,b", "}"), fc.string());
const blank = fc.stringMatching(/^[ \t\r\n]{0,2}$/);

test("L6: the members of any object are found, repeated names as well", () => {
  const member = fc.tuple(name, fc.jsonValue({ maxDepth: 3 }), blank);
  fc.assert(
    fc.property(fc.array(member, { maxLength: 6 }), blank, (members, around) => {
      const texts = members.map(
        ([key, value, gap]) =>
          `${gap}${JSON.stringify(key)}${gap}:${gap}${JSON.stringify(value)}${gap}`,
      );
      const found = readAll(`${around}{${around}${texts.join(",")}}${around}`);
      const expected = members.map(([key, value]) => [key, parseExactly(JSON.stringify(value))]);
      assert.deepEqual(found, expected);
    }),
    { numRuns: 1000 },
  );
});

test("L6: escaped names are read, and what is no object has no members", () => {
  assert.deepEqual(readAll('\uFEFF{"\\u006bey":1,"key":[{"key":2}]}'), [
    ["key", 1],
    ["key", [{ key: 2 }]],
  ]);
  for (const text of ["[]", "1", '"{}"', "null", " true "]) assert.deepEqual(readAll(text), []);
});
