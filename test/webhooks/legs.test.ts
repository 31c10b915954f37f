import assert from "node:assert/strict";
import { test } from "node:test";
import { openLegs, toLocation } from "../../src/server/webhooks/legs.ts";
import { readTarget } from "../../src/server/webhooks/target.ts";

const ID = "01a1f87a-3b3b-72f3-942a-15dd01be10e3";
const WEBHOOK = {
  id: "w",
  key_hash: "h1",
  previous_key_hash: null,
  previous_key_until: null,
  signature: null,
  signature_revision: 0,
  limits: null,
};
const legs = openLegs(Buffer.alloc(32, 7));

const LOCATIONS: readonly [string, string][] = [
  ["call", `./call?__wait_execution_id=${ID}`],
  ["call/", `./?__wait_execution_id=${ID}`],
  ["call/a/b?x=1", `./b?x=1&__wait_execution_id=${ID}`],
  ["call?key=secret&x=1", `./call?x=1&__wait_execution_id=${ID}`],
  ["call?k%65y=secret&x=%2F+", `./call?x=%2F+&__wait_execution_id=${ID}`],
  ["call?__wait_execution_id=old", `./call?__wait_execution_id=${ID}`],
  ["call/a/..", `?__wait_execution_id=${ID}`],
  ["call/a/%2E%2e?x", `?x&__wait_execution_id=${ID}`],
  ["call/b:c", `./b:c?__wait_execution_id=${ID}`],
];

for (const [path, location] of LOCATIONS)
  test(`the leg after ${path} is ${location}`, () => {
    const target = readTarget(`/api/latest/webhook/w/${path}`);
    assert.ok(target);
    assert.equal(toLocation(target, ID), location);
    const base = new URL(`http://h/prefix/api/latest/webhook/w/${path}`);
    assert.equal(new URL(location, base).pathname, base.pathname);
  });

test("a signature holds for its execution, webhook and key, and for no other", () => {
  const value = legs.toValue(ID, WEBHOOK);
  assert.equal(legs.toExecutionId(value), ID);
  assert.ok(legs.isSigned(value, WEBHOOK));
  assert.ok(!legs.isSigned(value, { ...WEBHOOK, id: "v" }));
  assert.ok(!legs.isSigned(value, { ...WEBHOOK, key_hash: "h2" }));
  assert.ok(!legs.isSigned(value.replace("01a1", "01a2"), WEBHOOK));
  assert.ok(!legs.isSigned(ID, WEBHOOK));
  assert.ok(!legs.isSigned(value, { ...WEBHOOK, key_hash: null }));
});

test("a replaced key's signature holds as long as the key is kept", () => {
  const value = legs.toValue(ID, WEBHOOK);
  const replaced = { ...WEBHOOK, key_hash: "h2", previous_key_hash: "h1" };
  assert.ok(legs.isSigned(value, { ...replaced, previous_key_until: Number.MAX_SAFE_INTEGER }));
  assert.ok(!legs.isSigned(value, { ...replaced, previous_key_until: 1 }));
});

test("where callers are told each other's id, a leg's value is signed without a key", () => {
  const limits = JSON.stringify({ max_concurrent: 1, when_busy: "replace" });
  const webhook = { ...WEBHOOK, key_hash: null, limits };
  const value = legs.toValue(ID, webhook);
  assert.ok(legs.isSigned(value, webhook));
  assert.ok(!legs.isSigned(value, { ...webhook, id: "v" }));
  assert.ok(!legs.isSigned(ID, webhook));
  assert.equal(legs.toExecutionId(value), ID);
});

test("without a key the value is the id alone", () => {
  assert.equal(legs.toValue(ID, { ...WEBHOOK, key_hash: null }), ID);
  assert.equal(legs.toExecutionId("nonsense"), null);
});

test("where calls are signed, a value holds until the next change of that", () => {
  for (const key_hash of [null, "h1"]) {
    const webhook = { ...WEBHOOK, key_hash, signature: "{}", signature_revision: 1 };
    const value = legs.toValue(ID, webhook);
    assert.ok(legs.isSigned(value, webhook));
    assert.ok(!legs.isSigned(value, { ...webhook, signature_revision: 2 }));
    assert.ok(!legs.isSigned(value, { ...webhook, key_hash: "h2" }));
    assert.ok(!legs.isSigned(value, { ...webhook, signature: null }));
    assert.ok(!legs.isSigned(legs.toValue(ID, WEBHOOK), webhook));
    assert.ok(!legs.isSigned(ID, webhook));
  }
});
