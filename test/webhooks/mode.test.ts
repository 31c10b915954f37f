import assert from "node:assert/strict";
import { test } from "node:test";
import type { MatchedCall } from "../../src/server/webhooks/call.ts";
import { earlierModeOf, modeOf } from "../../src/server/webhooks/mode.ts";

function matched(query: string, prefer: string | undefined, default_mode: "sync" | "async") {
  const incoming = { headers: prefer === undefined ? {} : { prefer } };
  return {
    call: { query: new URLSearchParams(query), incoming },
    webhook: { default_mode },
  } as unknown as MatchedCall;
}

const CASES: readonly (readonly [
  query: string,
  prefer: string | undefined,
  usual: "sync" | "async",
  mode: string,
])[] = [
  ["", undefined, "sync", "sync"],
  ["", undefined, "async", "async"],
  ["async", undefined, "sync", "async"],
  ["async=0", undefined, "async", "sync"],
  ["", "", "async", "async"],
  ["", ",;=, =3", "sync", "sync"],
  ["", "respond-async", "sync", "async, respond-async"],
  ["async", "respond-async, wait=3", "sync", "async"],
  ["async=0", "respond-async, wait=3", "sync", "sync 3000, wait=3"],
  ["", "wait=3", "async", "sync 3000, wait=3"],
  ["", "wait=3, respond-async", "sync", "async 3000, respond-async, wait=3"],
  ["", "wait=3, wait=4", "sync", "sync 3000, wait=3"],
  ["", "wait=x, wait=4", "sync", "sync"],
  ["", "wait=-1", "sync", "sync"],
  ["", "wait=300", "sync", "sync 300000, wait=300"],
  ["", "wait=1e2", "sync", "sync"],
  ["", "WAIT = 7 ; a=b", "sync", "sync 7000, wait=7"],
];

for (const [query, prefer, usual, expected] of CASES)
  test(`?${query}, Prefer: ${prefer ?? "-"}, by default ${usual}: ${expected}`, () => {
    const { is_async, waitMs, applied } = modeOf(matched(query, prefer, usual));
    const mode = `${is_async ? "async" : "sync"}${waitMs === null ? "" : ` ${waitMs}`}`;
    assert.equal(applied === null ? mode : `${mode}, ${applied}`, expected);
  });

test("the matrix of earlier releases knows the query alone", () => {
  assert.equal(earlierModeOf(matched("", "respond-async", "async")).is_async, false);
  assert.equal(earlierModeOf(matched("async", undefined, "sync")).is_async, true);
  assert.equal(earlierModeOf(matched("async=0", undefined, "sync")).is_async, false);
});
