import assert from "node:assert/strict";
import { test } from "node:test";
import { requireCarried, toInput } from "../../src/server/executions/input.ts";
import { MAX_FRAME } from "../../src/shared/wire/frames.ts";

test("an input that no frame carries is refused before it is recorded", () => {
  // As many bytes as characters: more would be told by the length alone.
  const text = "x".repeat(MAX_FRAME - 2 ** 20);
  requireCarried(toInput(text));
  assert.throws(() => requireCarried(toInput(`${text}x`)), {
    code: "body_too_large",
    message: /has 267386881 bytes, expected at most 267386880/,
  });
});

test("a body is measured as it is where a runner forwards it", () => {
  // Of a form only the first value of a name is in the input; each sign takes six bytes in JSON.
  const raw_body = "\u0001".repeat(MAX_FRAME / 6);
  assert.throws(() => requireCarried({ ...toInput("1"), raw_body }), { code: "body_too_large" });
});
