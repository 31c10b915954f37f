import assert from "node:assert/strict";
import { test } from "node:test";
import { findScalar } from "../../src/server/webhooks/json-pointer.ts";

test("a long number is as it was sent below a name with an escape", () => {
  // A caller's: from then on JSON.parse takes other names for this one.
  JSON.parse(String.raw`{"x":0,"\\":1}`);
  const text = String.raw`{"x":0,"\n":12345678901234567890}`;
  assert.equal(findScalar({ text, pointer: "/\n", hasOwnNumbers: true }), "12345678901234567890");
});
