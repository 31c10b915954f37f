import assert from "node:assert/strict";
import { test } from "node:test";
import { Validator } from "@cfworker/json-schema";
import { exampleOf } from "../../src/browser/json-example.ts";

const object = (properties: object, ...required: string[]) => ({
  type: "object",
  properties,
  required,
});

/** Schemas as flows have them, and the example that is made of each. */
const ROWS: readonly (readonly [schema: object, expected: unknown])[] = [
  [object({ a: { type: "string" }, b: { type: "number" } }, "a"), { a: "text" }],
  [object({ a: { type: "string" }, b: { type: "boolean" } }), { a: "text", b: true }],
  [object({}, "missing"), { missing: null }],
  [{ type: "object" }, {}],
  [{ enum: ["lamp", "chair"] }, "lamp"],
  [{ const: 7 }, 7],
  [{ type: "string", examples: ["DE-1234"], pattern: "^DE" }, "DE-1234"],
  [{ type: "integer", default: 3 }, 3],
  [{ type: "string", format: "email" }, "ada@example.org"],
  [{ type: "string", format: "date-time" }, "2026-01-31T16:30:00Z"],
  [{ type: "string", minLength: 6 }, "textxx"],
  [{ type: "string", maxLength: 2 }, "te"],
  [{ type: "integer" }, 1],
  [{ type: "integer", minimum: 10 }, 10],
  [{ type: "integer", exclusiveMinimum: 10 }, 11],
  [{ type: "number", maximum: -2 }, -2],
  [{ type: "number", exclusiveMaximum: 0 }, -1],
  [{ type: "integer", minimum: 10, multipleOf: 4 }, 12],
  [{ type: "number", minimum: 0.2, maximum: 0.8 }, 0.8],
  [{ type: ["null", "string"] }, "text"],
  [{ type: "null" }, null],
  [{ type: "array", items: { type: "string" } }, ["text"]],
  [{ type: "array", items: { type: "string" }, minItems: 2 }, ["text", "text"]],
  [{ type: "array", maxItems: 0 }, []],
  [{ type: "array", prefixItems: [{ type: "string" }, { type: "integer" }] }, ["text", 1]],
  [{ anyOf: [{ type: "null" }, object({ a: { type: "integer" } }, "a")] }, { a: 1 }],
  [{ oneOf: [{ type: "string" }, { type: "integer" }] }, "text"],
  [
    { allOf: [object({ a: { type: "integer" } }, "a"), object({ b: { type: "boolean" } }, "b")] },
    { a: 1, b: true },
  ],
  [
    {
      ...object({ to: { $ref: "#/$defs/place~1of" } }, "to"),
      $defs: { "place/of": { const: "x" } },
    },
    { to: "x" },
  ],
  [object({ constructor: { type: "integer" } }, "constructor"), { constructor: 1 }],
];

test("an example is what its schema takes", () => {
  for (const [schema, expected] of ROWS) {
    const example = exampleOf(schema);
    assert.deepEqual(example, expected, JSON.stringify(schema));
    const { valid } = new Validator(schema, "2020-12").validate(example);
    assert.ok(valid, JSON.stringify(schema));
  }
});

test("a schema that takes anything gives none, and one that is none does no harm", () => {
  for (const schema of [undefined, null, {}, true, 7, "x", [], { type: "colour" }, { $ref: "#/x" }])
    assert.equal(exampleOf(schema), undefined);
  const wild = { type: "array", minItems: 1e9, items: { type: "string", minLength: 1e12 } };
  assert.equal((exampleOf(wild) as string[]).length, 20);
});

test("a schema that leads back to itself ends", () => {
  const tree = { ...object({ child: { $ref: "#" } }, "child") };
  assert.ok(JSON.stringify(exampleOf(tree)).length < 200);
  assert.equal(exampleOf({ $ref: "#" }), undefined);
  const names = Array.from({ length: 300 }, (_, n) => `member${n}`);
  const wide = object(Object.fromEntries(names.map((name) => [name, { $ref: "#" }])), ...names);
  const began = performance.now();
  assert.ok(JSON.stringify(exampleOf(wide)).length < 5_000_000);
  assert.ok(performance.now() - began < 5000, "not each member for each member");
  assert.doesNotThrow(() => exampleOf({ $ref: "#/%zz" }));
});
