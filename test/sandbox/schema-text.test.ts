import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { z } from "zod";
import { describeSchemas } from "../../src/sandbox/schema-text.ts";

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
