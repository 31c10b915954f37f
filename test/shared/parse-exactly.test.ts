import assert from "node:assert/strict";
import { before, test } from "node:test";
import fc from "fast-check";
import { parseWhole } from "../../src/shared/json-whole.ts";
import { parseExactly } from "../../src/shared/parse-exactly.ts";

const names = fc.oneof(
  fc.constantFrom(
    "\\",
    "\n",
    '"',
    "a\\",
    "a\n",
    "a",
    "x",
    "1",
    "",
    "__proto__",
    "\u2028",
    "\ud800",
  ),
  fc.string({ unit: fc.constantFrom("\\", "\n", '"', "u", "n", "a"), maxLength: 4 }),
);

/** Objects and lists of any depth: few names, so that shapes come again. */
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(0, 1.5, -2e30, true, null, "", '",:{}[]\\', "\\u"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc
      .array(fc.tuple(names, tie("value")), { maxLength: 4 })
      .map((pairs) => Object.fromEntries(pairs) as object),
  ),
}));

before(() => {
  // A caller's: from then on JSON.parse takes other names for this one.
  for (const name of ["\\", "a\\", "\\u", "u\\"]) JSON.parse(`{"x":0,${JSON.stringify(name)}:1}`);
});

test("a name with an escape is what was written, whatever was parsed before", () => {
  for (const name of ["\n", '"', "\t", "\\", "a\n"]) {
    const text = `{"x":0,${JSON.stringify(name)}:1}`;
    assert.deepEqual(Object.keys(parseExactly(text) as object), ["x", name], text);
  }
  assert.deepEqual(Object.keys(parseExactly('{"x":0,"\\u006bey":1}') as object), ["x", "key"]);
});

test("names and digits are both what was written", () => {
  for (const text of ['{"x":0,"\\n":12345678901234567890}', '[{"x":1.0,"\\t":[1e400,"a"]}]'])
    assert.equal(JSON.stringify(parseWhole(text)), text);
});

test("any value is what was written", () => {
  const layouts = fc.constantFrom(undefined, 1, "\t");
  fc.assert(
    fc.property(values, layouts, (value, layout) => {
      const text = JSON.stringify(value, null, layout);
      assert.equal(JSON.stringify(parseExactly(text), null, layout), text);
    }),
    { numRuns: 500 },
  );
});

test("of a repeated name the last value counts, however each is written", () => {
  for (const text of ['{"\\u0061":1,"b":0,"a":2}', '{"a":1,"b":0,"\\u0061":2}'])
    assert.equal(JSON.stringify(parseExactly(text)), '{"a":2,"b":0}');
  assert.equal(JSON.stringify(parseExactly('{"\\u0031":1,"b":0,"1":2}')), '{"1":2,"b":0}');
});

test("__proto__ is a name like any other", () => {
  const value = parseExactly('{"__proto__":{"x":1},"\\n":2}') as object;
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.deepEqual(Object.keys(value), ["__proto__", "\n"]);
});

test("what is no JSON is refused, however it ends", () => {
  const whole = '{"a\\n":[1,{"\\u0062":"c\\""}],"d":null}';
  for (let end = 0; end < whole.length; end += 1)
    assert.throws(() => parseExactly(whole.slice(0, end)), SyntaxError);
});
