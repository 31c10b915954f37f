import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { z } from "zod";
import { describeSchemas } from "../../src/sandbox/schema-text.ts";
import { checkAgainstSchema } from "../../src/server/webhooks/schema-check.ts";

function describe(input: unknown): Record<string, unknown> {
  const told = describeSchemas({ input }).input;
  assert.equal(told?.reason, null);
  return JSON.parse(told.json) as Record<string, unknown>;
}

function jsonOf(schema: v.GenericSchema): unknown {
  const { properties } = describe(v.object({ json: schema }));
  return (properties as Record<string, unknown>)["json"];
}

test("a schema of valibot is described as what is sent, before it is transformed", () => {
  assert.deepEqual(jsonOf(v.pipe(v.string(), v.minLength(2), v.maxLength(9))), {
    type: "string",
    minLength: 2,
    maxLength: 9,
  });
  assert.deepEqual(jsonOf(v.pipe(v.string(), v.transform(Number), v.number(), v.minValue(3))), {
    type: "string",
  });
  assert.deepEqual(jsonOf(v.pipe(v.date(), v.toMinValue(new Date(0)))), {});
});

test("what is said after a transformation is not said of what is sent", () => {
  const trimmed = v.pipe(v.string(), v.minLength(1), v.trim(), v.maxLength(3), v.regex(/^a+$/));
  assert.deepEqual(jsonOf(trimmed), { type: "string", minLength: 1 });
  const branded = v.pipe(v.string(), v.brand("Name"), v.maxLength(3));
  assert.deepEqual(jsonOf(branded), { type: "string", maxLength: 3 });
});

test("a pattern whose flags JSON Schema does not have is left out", () => {
  assert.deepEqual(jsonOf(v.pipe(v.string(), v.regex(/^a+$/i))), { type: "string" });
  assert.deepEqual(jsonOf(v.pipe(v.string(), v.regex(/^a+$/u))), {
    type: "string",
    pattern: "^a+$",
  });
});

test("a library that writes JSON Schema is asked for it", () => {
  const input = z.object({ json: z.object({ at: z.date(), size: z.int().min(1) }) });
  const { properties } = describe(input);
  assert.deepEqual((properties as Record<string, { properties: unknown }>)["json"]!.properties, {
    at: {},
    size: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  });
});

test("nothing is refused at the door that the schema itself takes", () => {
  const trimmed = v.pipe(v.string(), v.trim(), v.maxLength(1));
  const fallback = v.fallback(trimmed, "x");
  const S = z.object({ n: z.coerce.number().min(1) }).meta({ id: "S" });
  const rows: readonly (readonly [schema: { readonly "~standard": Validating }, value: unknown])[] =
    [
      [fallback, 5],
      [v.fallback(v.number(), 1), "no"],
      [v.strictObject({ a: fallback }), {}],
      [v.strictObject({ a: fallback, b: v.array(fallback) }), { a: 1, b: [1] }],
      [v.object({ a: v.optional(fallback), b: v.nullable(fallback) }), { a: 1, b: 1 }],
      [
        v.object({ a: v.record(v.string(), fallback), b: v.union([fallback]) }),
        { a: { c: 1 }, b: 1 },
      ],
      [v.tuple([v.lazy(() => fallback), fallback]), [1, 1]],
      [v.tuple([v.string(), v.fallback(v.number(), 1)]), ["a"]],
      [v.strictTuple([v.string(), v.fallback(v.number(), 1)]), ["a"]],
      [v.tuple([v.string(), v.optional(v.number())]), ["a"]],
      [v.strictTuple([v.optional(v.string()), v.nullish(v.number()), v.any()]), []],
      [v.tupleWithRest([v.string(), v.pipe(v.optional(v.number(), 1))], v.number()), ["a"]],
      [v.looseTuple([v.string(), v.union([v.undefined(), v.lazy(() => fallback)])]), ["a"]],
      [v.objectWithRest({}, fallback), { a: 1 }],
      [v.tupleWithRest([], fallback), [1]],
      [v.pipe(v.unknown(), v.transform(Number), v.number(), v.minValue(3)), "5"],
      [v.pipe(v.string(), v.toLowerCase(), v.regex(/^[a-z]+$/)), "ABC"],
      [
        z.object({ a: S, b: S.optional(), c: z.coerce.string().nullable() }),
        { a: { n: "1" }, c: 5 },
      ],
      [z.object({ a: z.number().catch(1), b: z.string().default("x") }), {}],
      [z.array(z.number().catch(1)), ["x"]],
      [z.tuple([z.number().catch(1)]), []],
      [z.record(z.enum(["a"]), z.number().catch(1)), {}],
      [z.record(z.enum(["a", "b"]), z.any()), {}],
      [z.record(z.enum(["a", "b"]), z.unknown()), { a: 1 }],
      [z.string().regex(/^#[0-9a-f]{6}$/i), "#ABCDEF"],
      [z.object({ a: z.string().regex(/^a/).regex(/B$/i) }), { a: "ab" }],
      [z.preprocess(Number, z.number().min(3)), "5"],
      [z.string().trim().max(3), "  abc  "],
      [
        z
          .string()
          .toLowerCase()
          .regex(/^[a-z]+$/),
        "ABC",
      ],
      [z.number().overwrite(Math.round).int(), 5.5],
      [z.string().transform(Number).pipe(z.number().min(3)), "5"],
      [z.lazy(() => z.coerce.date()), "2020-01-01"],
    ];
  for (const [schema, value] of rows) {
    assert.equal(Reflect.get(schema["~standard"].validate(value), "issues"), undefined);
    const text = JSON.stringify(describe(schema));
    const { errors } = checkAgainstSchema({ schema: text, input: JSON.stringify(value) });
    assert.deepEqual(errors, [], text);
  }
  assert.equal(describe(z.string().regex(/^a+$/u))["pattern"], "^a+$");
  assert.equal(describe(v.tuple([v.optional(v.any()), v.date(), v.any()]))["minItems"], 2);
  assert.deepEqual(describe(z.string().min(2).describe("a name")), {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "string",
    minLength: 2,
    description: "a name",
  });
});

interface Validating {
  validate(value: unknown): object;
}

test("why there is none is told", () => {
  const standard = { version: 1, vendor: "own", validate: (value: unknown) => ({ value }) };
  const large = v.object({ json: v.picklist(Array.from({ length: 9000 }, (_, n) => `word ${n}`)) });
  const rows: readonly (readonly [schema: unknown, reason: RegExp])[] = [
    [{ "~standard": standard }, /The library "own" cannot write its schemas as JSON Schema/],
    [large, /^It has \d+ bytes, at most 65536 are kept$/],
    [withJson(standard, () => "text"), /The library's JSON Schema is no object/],
    [withJson(standard, () => ({ toJSON: () => undefined })), /cannot be written as JSON$/],
    [
      withJson(standard, () => {
        throw new Error("not today");
      }),
      /not today/,
    ],
  ];
  for (const [schema, reason] of rows) {
    const { input, output } = describeSchemas({ input: schema, output: schema });
    assert.match(input?.reason ?? "none", reason);
    assert.deepEqual(output, input);
    assert.equal(input?.json, null);
  }
  assert.deepEqual(describeSchemas(null), { input: null, output: null });
  assert.deepEqual(describeSchemas({}), { input: null, output: null });
});

function withJson(standard: object, input: () => unknown) {
  return { "~standard": { ...standard, jsonSchema: { input } } };
}
