import assert from "node:assert/strict";
import { test } from "node:test";
import type { SignedCall } from "../../src/server/webhooks/call.ts";
import { readChallenge } from "../../src/server/webhooks/handshake.ts";

const SIGNED = { scheme: "slack", verified: {} } as SignedCall;

function read(body: object): string | null {
  const text = JSON.stringify(body);
  return readChallenge(SIGNED, { text, json: null, key: null, isStripped: false });
}

test("a challenge is read of any body that says it has one", () => {
  const body = { type: "url_verification", challenge: "\u0001".repeat(1024) };
  assert.equal(read(body), body.challenge, "of the most bytes, each with an escape");
  for (const length of [1025, 9000, 1_000_000])
    assert.throws(() => read({ ...body, challenge: "x".repeat(length) }), { code: "bad_body" });
  assert.equal(read({ type: "event_callback" }), null);
  const padding = "x".repeat(10_000);
  assert.equal(read({ ...body, padding }), body.challenge);
  assert.equal(read({ type: "event_callback", padding }), null);
  assert.equal(
    read({ type: "event_callback", event: { type: "url_verification" }, padding }),
    null,
  );
});

test("a long event is not parsed again for one", () => {
  const text = `{"type": "event_callback", "padding": "${"x".repeat(10_000)}"`;
  assert.equal(readChallenge(SIGNED, { text, json: null, key: null, isStripped: false }), null);
});
