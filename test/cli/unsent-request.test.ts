import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toUnsentError, UnansweredError } from "../../src/cli/unsent-request.ts";

const NODE = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });
const DENO = new Error("client error (SendRequest): connection closed before message completed");

const BROKE = "No answer of http://a: the connection broke off";
const DOUBT = ". What was asked for may have been done";
const ASKED = '. Does it speak HTTPS? Then its URL begins with "https:"';

describe("a connection that was closed before the answer", () => {
  for (const [runtime, cause] of Object.entries({ NODE, DENO })) {
    const tell = (afterMs: number, more: { isAct: boolean; isKnown?: boolean }) => {
      const request = { url: "http://a/b", sentAt: 5, isKnown: false, advice: "", ...more };
      const told = toUnsentError(new TypeError("fetch failed", { cause }), request, 5 + afterMs);
      assert.ok(told instanceof UnansweredError);
      return told.message;
    };

    test(`${runtime}: at once, by what may wait for TLS`, () => {
      assert.equal(tell(999, { isAct: false }), `Cannot reach http://a: ${cause.message}${ASKED}`);
      assert.equal(tell(999, { isAct: true }), BROKE + DOUBT + ASKED);
    });

    test(`${runtime}: later, or by what speaks HTTP`, () => {
      assert.equal(tell(1000, { isAct: false }), BROKE);
      assert.equal(tell(1000, { isAct: true }), BROKE + DOUBT);
      assert.equal(tell(0, { isAct: true, isKnown: true }), BROKE + DOUBT);
    });
  }
});
