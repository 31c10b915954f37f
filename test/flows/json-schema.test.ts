import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSchemas, readJsonSchema } from "../../src/server/flows/json-schema.ts";

/** What a flow could tell of its input: any text. */

const read = (schema: unknown) => readJsonSchema(JSON.stringify(schema));

test("known keywords are kept with values that they may have, others are left out", () => {
  assert.deepEqual(
    read({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "http://example.com/",
      type: "object",
      properties: { a: { type: "text", minLength: -1, maxLength: 3 }, $ref: { type: "string" } },
      required: ["a", "a"],
      additionalProperties: { oneOf: [], enum: [], pattern: "(", items: true },
      patternProperties: { "(": {}, "^x": { const: null } },
      default: { $ref: "http://example.com/not-a-reference" },
      "x-own": 1,
    }),
    {
      type: "object",
      properties: { a: { maxLength: 3 }, $ref: { type: "string" } },
      required: ["a"],
      additionalProperties: { items: true },
      patternProperties: { "^x": { const: null } },
      default: { $ref: "http://example.com/not-a-reference" },
    },
  );
});

test("a member named __proto__ is a member", () => {
  const schema = readJsonSchema('{"properties":{"__proto__":{"type":"string"}}}');
  assert.equal(JSON.stringify(schema), '{"properties":{"__proto__":{"type":"string"}}}');
  assert.equal(({} as { type?: unknown }).type, undefined);
});

test("references within the schema are kept, also to itself", () => {
  const list = { $defs: { item: { properties: { next: { $ref: "#/$defs/item" } } } } };
  assert.deepEqual(read({ ...list, $ref: "#/$defs/item" }), { ...list, $ref: "#/$defs/item" });
  const tree = { properties: { children: { items: { $ref: "#" } } } };
  assert.deepEqual(read(tree), tree);
  const named = { $defs: { "a/b c": {} }, items: { $ref: "#/$defs/a~1b%20c" } };
  assert.deepEqual(read(named), named);
});

const deep = `${'{"not":'.repeat(200)}{}${"}".repeat(200)}`;

const REFUSED: readonly (readonly [name: string, text: string, message: RegExp])[] = [
  ["no JSON", "{", /JSON/],
  ["no object", "[]", /it is no object/],
  ["true", "true", /it is no object/],
  ["too many bytes", JSON.stringify({ title: "x".repeat(65536) }), /more than 65536 bytes/],
  ["too many levels", deep, /more than 100 levels/],
  ["a file", '{"items":{"$ref":"file:///etc/passwd"}}', /\$ref "file:.*is not "#"/],
  ["a host", '{"not":{"$ref":"http://169.254.169.254/"}}', /\$ref "http:.*is not "#"/],
  ["a part of itself", '{"items":{"$ref":"#/properties/a"}}', /is not "#"/],
  ["no text", '{"$ref":{"a":1}}', /\$ref \{"a":1\} is not/],
  ["nothing", '{"items":{"$ref":"#/$defs/a"}}', /"#\/\$defs\/a" leads to nothing/],
  ["its prototype", '{"$ref":"#/$defs/toString"}', /leads to nothing/],
  ["half a member", '{"properties":{"a\\ud800":{}}}', /the name "a\\ud800" in it has half of/],
  ["half a name", '{"items":{"required":["\\udc00"]}}', /the name "\\udc00" in it has half of/],
  ["half in a value", '{"enum":[1,[{"\\udc00":1}]]}', /the name "\\udc00" in it has half of/],
  ["itself at once", '{"$ref":"#"}', /"#" refers to itself without end/],
  [
    "itself by others",
    '{"$defs":{"a":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/b"}]},"b":{"not":{"if":{"$ref":"#/$defs/a"}}}}}',
    /"#\/\$defs\/a" refers to itself without end/,
  ],
];

for (const [name, text, message] of REFUSED) {
  test(`refused: ${name}`, () => assert.throws(() => readJsonSchema(text), { message }));
}

test("one that cannot be used has a reason in its place", () => {
  const { input, output } = checkSchemas({
    input: { json: '{"$ref":"#"}', reason: null },
    output: { json: null, reason: "r".repeat(2000) },
  });
  assert.deepEqual(input, {
    json: null,
    reason: 'It is no JSON Schema: "#" refers to itself without end',
  });
  assert.deepEqual(output, { json: null, reason: "r".repeat(1000) });
  assert.deepEqual(checkSchemas(null), { input: null, output: null });
});
