import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAgainstSchema } from "../../src/server/webhooks/schema-check.ts";

function errorsOf(schema: object, json: unknown) {
  const input = JSON.stringify({ json });
  const text = JSON.stringify({ type: "object", properties: { json: schema } });
  const { errors, unusable } = checkAgainstSchema({ schema: text, input });
  assert.equal(unusable, null);
  return errors.map(({ field, message }) => `${field}: ${message}`);
}

const PERSON = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 4, maxLength: 5, pattern: "^[a-z]+$" },
    age: { anyOf: [{ type: "integer", minimum: 18 }, { type: "null" }] },
    kind: { enum: ["a", "b"] },
    tags: { type: "array", items: { type: "string" }, maxItems: 2 },
  },
  required: ["name"],
  additionalProperties: false,
};

test("each error names its field and what was expected there", () => {
  const rows: readonly (readonly [json: unknown, errors: readonly string[]])[] = [
    [{ name: "abcd", age: null, kind: "a", tags: ["x"] }, []],
    [{}, ["json.name: expected, but it is missing"]],
    ["text", ["json: expected object"]],
    [{ name: "abcdef" }, ["json.name: expected at most 5 characters"]],
    [{ name: "ABCD" }, ["json.name: does not match the pattern"]],
    [{ name: "abcd", age: 3 }, ["json.age: expected at least 18"]],
    [{ name: "abcd", kind: "c" }, ['json.kind: expected one of "a", "b"']],
    [
      { name: "abcd", tags: ["x", 7, null] },
      [
        "json.tags: expected at most 2 items",
        "json.tags.1: expected string",
        "json.tags.2: expected string",
      ],
    ],
    [{ name: "abcd", "a/b~c %": 1 }, ["json.a/b~c %: not known here"]],
  ];
  for (const [json, errors] of rows) assert.deepEqual(errorsOf(PERSON, json), errors);
});

test("values of the input are not repeated", () => {
  const schema = { type: "number", minimum: 10, multipleOf: 4, exclusiveMaximum: 5 };
  const told = errorsOf({ anyOf: [schema] }, 7.123456).join();
  assert.match(told, /expected at least 10 or expected less than 5 or expected a multiple of 4/);
  assert.doesNotMatch(told, /7\.123/);
});

test("at most 20 fields are told, each in at most 300 characters", () => {
  const many = Array.from({ length: 100 }, () => 1);
  assert.equal(errorsOf({ items: { type: "string" } }, many).length, 20);
  const name = "n".repeat(5000);
  const [told] = errorsOf({ additionalProperties: false }, { [name]: 1 });
  assert.equal(told, `json.${"n".repeat(295)}…: not known here`);
});

test("what the library may mean to admit is admitted", () => {
  const rows: readonly (readonly [schema: object, json: unknown])[] = [
    [{ type: "string", format: "time" }, "12:30"],
    // Two UTF-16 units, one character.
    [{ type: "string", minLength: 2 }, "😀"],
    [{ type: "string", pattern: "^[\\w-.]+$" }, "a b"],
    [{ oneOf: [{ type: "number" }, { type: "integer" }] }, 1],
    [{ type: "number", multipleOf: 0.1 }, 0.25],
    [{ not: { type: "string", format: "email" } }, "text"],
    [{ $defs: { a: { format: "email" } }, not: { $ref: "#/$defs/a" } }, "text"],
    [{ if: { minLength: 3 }, then: false, else: true }, "ab"],
    [{ patternProperties: { "^[\\w-.]$": {} }, additionalProperties: false }, { "-": 1 }],
  ];
  for (const [schema, json] of rows) {
    const { $defs, ...own } = schema as { $defs?: object };
    const whole = { ...($defs === undefined ? {} : { $defs }), properties: { json: own } };
    const input = JSON.stringify({ json });
    const text = JSON.stringify(whole);
    const { errors } = checkAgainstSchema({ schema: text, input });
    assert.deepEqual(errors, [], text);
  }
});

test("an input that is too deep or has too many errors is refused, not passed", () => {
  const tree = JSON.stringify({
    $defs: { t: { items: { $ref: "#/$defs/t" } } },
    $ref: "#/$defs/t",
  });
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const told = checkAgainstSchema({ schema: tree, input: deep });
  assert.match(told.errors[0]?.message ?? "", /cannot be checked/);
  const names = Array.from({ length: 200_000 }, (_, n) => [`a${n}`, 1]);
  const { errors } = checkAgainstSchema({
    schema: '{"properties":{"json":{"propertyNames":{"maxLength":1}}}}',
    input: JSON.stringify({ json: Object.fromEntries(names) }),
  });
  assert.ok(errors.length > 0);
});

test("a name with half of a surrogate pair is judged as any other name", () => {
  const halves = { "a\ud800": 1, "a\udc00": 2, "😀": 3 };
  const rows: readonly (readonly [schema: object, errors: readonly string[]])[] = [
    [{ additionalProperties: { type: "number" } }, []],
    [{ minProperties: 3, propertyNames: { maxLength: 2 } }, []],
    [{ patternProperties: { "^a.$": { type: "number" } } }, []],
    [{ properties: { "😀": { const: 3 } }, additionalProperties: true }, []],
    [
      { properties: { "😀": { type: "number" } }, additionalProperties: false },
      ["json.a\ufffd: not known here"],
    ],
    [{ patternProperties: { "^a.$": { minimum: 2 } } }, ["json.a\ufffd: expected at least 2"]],
    [{ required: ["b"] }, ["json.b: expected, but it is missing"]],
  ];
  for (const [schema, errors] of rows) assert.deepEqual(errorsOf(schema, halves), errors);
  assert.deepEqual(errorsOf({ items: { required: ["a"] } }, [{ "\ud800": 1, a: 1 }]), []);
});

test("a member named __proto__ changes nothing beside it", () => {
  const input = '{"json":{"__proto__":{"type":"polluted"},"a":1}}';
  const schema = '{"properties":{"json":{"properties":{"__proto__":{"type":"object"}}}}}';
  assert.deepEqual(checkAgainstSchema({ schema, input }).errors, []);
  assert.equal(({} as { type?: unknown }).type, undefined);
});
