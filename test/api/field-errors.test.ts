import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "../../src/server/api/field-errors.ts";
import { CREDENTIALS } from "../../src/shared/contract/login.ts";
import { RequestError } from "../../src/shared/errors.ts";

test("what no schema has is not looked into, however deep and wide it is", () => {
  const deepest = Array.from({ length: 30_000 }, () => [1]);
  let deep: unknown = deepest;
  for (let depth = 0; depth < 500; depth += 1) deep = [deep];
  const begun = performance.now();
  for (let n = 0; n < 100; n += 1)
    assert.throws(() => check(CREDENTIALS, { user_name: "a", password: "b", deep }), RequestError);
  const ms = performance.now() - begun;
  assert.ok(ms < 2000, `100 of them took ${ms} ms`);
});
