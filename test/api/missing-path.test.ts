import assert from "node:assert/strict";
import { test } from "node:test";
import { ROUTES } from "../../src/server/api/routes.ts";
import { describeMissing } from "../../src/server/http/missing-path.ts";

const say = (target: string, prefix = "") => describeMissing(target, prefix, ROUTES);

test("a path beside the API leads to the one in it", () => {
  assert.match(
    say("/webhook/orders/call"),
    /Did you mean "\/api\/latest\/webhook\/orders\/call"\?$/,
  );
  assert.match(say("/api/v1/webhook"), /Did you mean "\/api\/latest\/webhook" \(GET, POST\)\?$/);
  assert.match(say("/openapi.json"), /"\/api\/latest\/openapi\.json" \(GET\)/);
  assert.match(say("/metric?x=1"), /at "\/metric"\. Did you mean "\/metrics"\?$/);
});

test("a wrong prefix says what BASE_URL expects", () => {
  assert.match(
    say("/api/latest/webhook", "/hooks"),
    /BASE_URL .* "\/hooks\/api\/latest\/webhook"$/,
  );
  assert.match(say("/hooks/api/latest/webhok", "/hooks"), /"\/hooks\/api\/latest\/webhook" \(GET/);
  const unstripped = say("/hooks/api/latest/webhook");
  assert.match(unstripped, /expected "\/api\/latest\/webhook".*"\/hooks" set BASE_URL/);
});

test("what resembles nothing is told where to look, and costs little", () => {
  assert.match(say("/foo"), /The API is below "\/api\/latest"/);
  assert.match(say(`/api/latest/${"x".repeat(10_000)}`), /The API is below/);
  assert.match(say("/api/latest/webhook"), /Did you mean/);
  assert.match(say("*"), /The API is below/);
});

test("a path of slashes stops nobody", () => {
  const tries = Array.from({ length: 3 }, () => {
    const started = performance.now();
    assert.match(say(`${"/".repeat(200_000)}x`), /The API is below/);
    return performance.now() - started;
  });
  // The quickest: a machine may pause in any one of them.
  const took = Math.min(...tries);
  assert.ok(took < 1000, `looking for a route took ${took.toFixed(0)} ms`);
});
