import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { IDEMPOTENCY } from "../../src/shared/contract/idempotency.ts";
import { WEBHOOK_AUTHENTICATION } from "../../src/shared/contract/webhook.ts";
import { check } from "../../src/server/api/field-errors.ts";
import { findMistake } from "../../src/server/flows/misplaced.ts";

/** No pattern that texts from outside are held against takes long for what it does not match. */

/** Of a pattern that tries each way only once, on a busy machine; milliseconds. */
const SOON_MS = 500;

function assertSoon(act: () => unknown): void {
  const begun = performance.now();
  act();
  const ms = performance.now() - begun;
  assert.ok(ms < SOON_MS, `${Math.round(ms)} ms`);
}

test("where an idempotency key is", () => {
  for (const from of ["json:/", "json://a/b~1c", `json:/${"a".repeat(128)}`])
    assert.equal(v.is(IDEMPOTENCY, { from }), true, from);
  for (const from of ["json:", "json:a", `json:/${"a".repeat(129)}`, "json:/a\n"])
    assert.equal(v.is(IDEMPOTENCY, { from }), false, from);
  assertSoon(() => v.is(IDEMPOTENCY, { from: `json:${"/".repeat(27)}\n` }));
});

test("what was found in the place of a member", () => {
  const generate = `${" but received ".repeat(20_000)}\n`;
  const body = { password: "a", key: { generate } };
  assertSoon(() =>
    assert.throws(() => check(WEBHOOK_AUTHENTICATION, body), /key\.generate: expected true, found/),
  );
});

test("why a file is no flow", () => {
  const says = "It has 'module.exports' and no default export: write 'export default' instead";
  assert.equal(findMistake("const a = 1;\n\n  exports.run = a;\n"), says);
  assertSoon(() => assert.equal(findMistake("\n".repeat(100_000)), null));
});
