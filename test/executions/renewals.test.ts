import assert from "node:assert/strict";
import { test } from "node:test";
import { Renewals } from "../../src/server/executions/renewals.ts";

/** How many of so many are granted at once. */
function grant(renewals: Renewals, asked: number, at: number): number {
  let granted = 0;
  for (let n = 0; n < asked; n += 1) if (renewals.take(at)) granted += 1;
  return granted;
}

test("eight threads are renewed at once, and then one every five seconds", () => {
  const renewals = new Renewals();
  assert.equal(grant(renewals, 100, 1_000_000), 8);
  assert.equal(grant(renewals, 100, 1_004_999), 0);
  assert.equal(grant(renewals, 100, 1_005_000), 1);
  assert.equal(grant(renewals, 100, 1_009_999), 0);
  assert.equal(grant(renewals, 100, 1_021_000), 3);
  assert.equal(grant(renewals, 100, 1_025_000), 1, "the second before counts");
});

test("never more than eight have gathered", () => {
  const renewals = new Renewals();
  assert.equal(grant(renewals, 3, 0), 3);
  assert.equal(grant(renewals, 100, 3_600_000), 8);
  assert.equal(grant(renewals, 100, 3_604_999), 0);
});
