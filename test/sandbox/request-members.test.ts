import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { z } from "zod";
import { fillRequest, keepBeside, makesWhole } from "../../src/sandbox/request-members.ts";

const REQUEST = {
  method: "POST",
  path: "a",
  headers: { accept: "*/*" },
  query: { q: "1" },
  json: { path: "x" },
};

const { json, ...BESIDE } = REQUEST;

test("what an object schema does not name stays beside what it makes", () => {
  const made = Object.freeze({ json: { path: "X" } });
  const whole = { ...BESIDE, json: { path: "X" } };
  assert.deepEqual(keepBeside(made, REQUEST, ["json"]), whole);
  assert.deepEqual(made, { json: { path: "X" } });
  assert.deepEqual(keepBeside(made, REQUEST, null), whole, "nor where its members are not known");
  assert.deepEqual(keepBeside({ json, more: 1 }, REQUEST, ["json", "more"]), {
    ...REQUEST,
    more: 1,
  });
  const auth = { user_id: "u" };
  assert.deepEqual(keepBeside({ json }, { json, auth }, ["json"]), { json, auth });
  assert.deepEqual(keepBeside({}, REQUEST, []), BESIDE);
});

test("what it names is what it makes", () => {
  assert.deepEqual(keepBeside({ json, query: {} }, REQUEST, ["json", "query"]), {
    ...REQUEST,
    query: {},
  });
  const { headers: _headers, ...rest } = REQUEST;
  const named = ["json", "headers"];
  assert.deepEqual(keepBeside({ json }, rest, named), rest, "an optional one that did not come");
});

test("what is no request any more stays as it is", () => {
  const rows: readonly (readonly [made: unknown, named: readonly string[] | null])[] = [
    [json, ["json"]],
    [{}, null],
    [{ json, name: "a" }, null],
    [{ json, name: "a" }, ["json"]],
    [[json], null],
    ["text", null],
    [null, null],
    [new Map([["json", json]]), null],
    [new (class Request {})(), []],
  ];
  for (const [made, named] of rows) assert.equal(keepBeside(made, REQUEST, named), made);
  const list: unknown[] = [];
  const own = { json: 1 };
  assert.equal(keepBeside(own, list, null), own);
});

test("what a transformation makes of the whole stands alone, however it looks", () => {
  const named = v.object({ json: v.unknown() });
  const same = z.object({ json: z.unknown() });
  const pick = ({ json }: { json: unknown }) => ({ json });
  const rows: readonly (readonly [schema: unknown, makes: boolean])[] = [
    [v.pipe(named, v.transform(pick)), true],
    [v.pipe(named, v.transform(pick), named), true],
    [
      v.pipe(
        named,
        v.check(() => true),
        v.readonly(),
        v.brand("Input"),
      ),
      false,
    ],
    [named, false],
    [same.transform(pick), true],
    [same.transform(pick).pipe(same), true],
    [z.preprocess((value) => value, same), false],
    [same.refine(() => true).readonly(), false],
    [null, false],
  ];
  for (const [schema, makes] of rows) assert.equal(makesWhole(schema), makes);
});

test("a body has the rest of a request as a call has it", () => {
  const rest = { path: null, query: {} };
  const headers = { "content-type": "application/json" };
  assert.deepEqual(fillRequest({ json: 1 }), { ...rest, method: "POST", headers, json: 1 });
  assert.deepEqual(fillRequest({ json: 1, method: "PUT", headers: {} }), {
    ...rest,
    method: "PUT",
    headers: {},
    json: 1,
  });
  assert.equal(fillRequest(REQUEST), REQUEST);
});

test("a query or headers have the rest of a request without a body", () => {
  const empty = { method: "GET", path: null, headers: {}, query: {} };
  assert.deepEqual(fillRequest({ query: { q: "1" } }), { ...empty, query: { q: "1" } });
  assert.deepEqual(fillRequest({ headers: { a: "b" }, path: "x" }), {
    ...empty,
    headers: { a: "b" },
    path: "x",
  });
  assert.deepEqual(fillRequest({ query: {}, method: "DELETE" }), { ...empty, method: "DELETE" });
  assert.equal(fillRequest(BESIDE), BESIDE);
});

test("what is no part of a request is given as it is", () => {
  for (const value of [
    null,
    1,
    "x",
    [],
    [1],
    {},
    { path: "/a" },
    { query: "select 1" },
    { query: { match: { name: "Ada" } } },
    { query: { name: "Ada" }, size: 10 },
    { headers: ["a"] },
    { method: "GET" },
    { json: 1, order: 1 },
  ])
    assert.equal(fillRequest(value), value);
});
