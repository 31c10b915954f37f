import assert from "node:assert/strict";
import { test } from "node:test";
import type { SignedCall } from "../../src/server/webhooks/call.ts";
import { readChallenge } from "../../src/server/webhooks/handshake.ts";

const SIGNED = { scheme: "slack", verified: {} } as SignedCall;

function read(body: object): string | null {
  const text = JSON.stringify(body);
  return readChallenge(SIGNED, { text, json: null, key: null, isStripped: false });
}

test("a challenge is read of a short body, and no event is parsed again for one", () => {
  const body = { type: "url_verification", challenge: "\u0001".repeat(1024) };
  assert.equal(read(body), body.challenge, "of the most bytes, each with an escape");
  assert.throws(() => read({ ...body, challenge: "x".repeat(1025) }), { code: "bad_body" });
  assert.equal(read({ type: "event_callback" }), null);
  assert.equal(read({ ...body, padding: "x".repeat(10_000) }), null);
});
