import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseJson } from "../../src/server/request/json.ts";

const FAULTS: readonly [string, string, string][] = [
  ["a comma too many", '{"a":1,}', "line 1, column 8"],
  ["no colon", '{"a" 1}', "line 1, column 6"],
  ["an end too early", "[1,2", "line 1, column 5"],
  ["a broken literal", '{"a":\n tru}', "line 2, column 2"],
  ["a second line", '{"a":\n "b" x}', "line 2, column 6"],
  ["a leading zero", "[01]", "line 1, column 2"],
  ["text after the value", "[1] 2", "line 1, column 5"],
  ["a wrong bracket", '{"a":[1}', "line 1, column 8"],
  ["an unknown escape", '["\\x"]', "line 1, column 3"],
  ["a control character", '["a\tb"]', "line 1, column 4"],
  ["an open string", '["abc', "line 1, column 6"],
  ["two values", "{}{}", "line 1, column 3"],
  ["a name that is no string", "{1:2}", "line 1, column 2"],
  ["nothing", " ", "line 1, column 2"],
];

for (const [name, text, position] of FAULTS)
  test(`a body with ${name} is refused with its position`, () => {
    assert.throws(() => parseJson(text), { code: "bad_body", message: new RegExp(`${position}$`) });
  });

test("200 levels are read and 201 are not, brackets in strings do not count", () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  assert.doesNotThrow(() => parseJson(nested(200)));
  assert.throws(() => parseJson(nested(201)), { code: "bad_body", message: /200 levels/ });
  assert.doesNotThrow(() => parseJson(JSON.stringify(`\\"${"[".repeat(500)}`)));
});

test("the levels of any JSON are counted as they are", () => {
  const strings = fc.string({ unit: fc.constantFrom('"', "\\", "[", "{", "x"), maxLength: 300 });
  const padding = fc.array(strings, { minLength: 1 });
  fc.assert(
    fc.property(padding, fc.integer({ min: 190, max: 210 }), (texts, levels) => {
      const inner = JSON.stringify([...texts, "x".repeat(200)]);
      const text = "[".repeat(levels - 1) + inner + "]".repeat(levels - 1);
      if (levels <= 200) assert.doesNotThrow(() => parseJson(text));
      else assert.throws(() => parseJson(text), { message: /200 levels/ });
    }),
  );
});

test("a long string that does not end costs no stack", () => {
  assert.throws(() => parseJson(`"${"x".repeat(5_000_000)}`), { code: "bad_body" });
});

test("a byte order mark is passed over, and __proto__ is a name", () => {
  assert.deepEqual(parseJson('\uFEFF{"a":1}'), { a: 1 });
  const value = parseJson('{"__proto__":{"x":1}}') as object;
  assert.ok(Object.hasOwn(value, "__proto__"));
});
