import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RequestError } from "../../src/shared/errors.ts";
import type { WebhookRate } from "../../src/shared/contract/webhook-limits.ts";
import { describeRate, OwnRates } from "../../src/server/webhooks/rate-limit.ts";

function openRates() {
  const clock = { ms: 0 };
  const rates = new OwnRates(() => clock.ms);
  function isAdmitted(rate: WebhookRate, partition: string | null = null, webhook = "w"): boolean {
    try {
      rates.take(webhook, partition, rate);
      return true;
    } catch (error) {
      assert.ok(error instanceof RequestError && error.code === "rate_limited");
      return false;
    }
  }
  return { clock, rates, isAdmitted };
}

const RATE: WebhookRate = { calls: 3, per_sec: 10, burst: 3, by: "webhook" };

test("over any time no more pass than burst and rate allow, and never one fewer", () => {
  const rate = fc.record({
    calls: fc.integer({ min: 1, max: 50 }),
    per_sec: fc.integer({ min: 1, max: 20 }),
    burst: fc.integer({ min: 1, max: 20 }),
    by: fc.constant("webhook" as const),
  });
  const pauses = fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(rate, pauses, (given, waits) => {
      const { clock, isAdmitted } = openRates();
      let tokens = given.burst;
      for (const ms of waits) {
        clock.ms += ms;
        tokens = Math.min(given.burst, tokens + (ms / 1000) * (given.calls / given.per_sec));
        const expected = tokens >= 1 - 1e-6;
        const isSure = Math.abs(tokens - 1) > 1e-6;
        const found = isAdmitted(given);
        if (isSure) assert.equal(found, expected);
        if (found) tokens = Math.max(0, tokens - 1);
      }
    }),
  );
});

test("who waits as long as Retry-After says is admitted", () => {
  const { clock, rates, isAdmitted } = openRates();
  const rate = { ...RATE, calls: 7, per_sec: 60, burst: 1 };
  for (let round = 0; round < 50; round += 1) {
    assert.ok(isAdmitted(rate), `round ${round}`);
    assert.throws(
      () => rates.take("w", null, rate),
      (error: RequestError) => {
        clock.ms += Number(error.headers["retry-after"]) * 1000;
        return error.code === "rate_limited";
      },
    );
  }
});

test("headers: what is left and when there is more; a full bucket has t=0", () => {
  const { clock, rates } = openRates();
  const bucket = rates.take("w", null, RATE);
  const told = () => describeRate(bucket, clock.ms);
  assert.equal(told()["ratelimit"], '"calls";r=2;t=4');
  assert.equal(told()["ratelimit-policy"], '"calls";q=3;w=10');
  clock.ms = 3400;
  assert.equal(told()["ratelimit"], '"calls";r=3;t=0');
});

test("10,000 partitions are known, and none of them pushes out a webhook's own", () => {
  const { isAdmitted } = openRates();
  const rate = { ...RATE, calls: 1, per_sec: 86_400, burst: 1 };
  assert.ok(isAdmitted(rate));
  for (let at = 0; at < 10_000; at += 1) assert.ok(isAdmitted(rate, `address ${at}`));
  assert.ok(!isAdmitted(rate, "address 0"), "it is still known, and was used last");
  assert.ok(isAdmitted(rate, "one more"));
  assert.ok(!isAdmitted(rate, "address 0"));
  assert.ok(isAdmitted(rate, "address 1"), "the one that was used longest ago is forgotten");
  assert.ok(!isAdmitted(rate), "the webhook's own");
});

test("another rate begins anew, the same one in another object does not", () => {
  const { isAdmitted } = openRates();
  const rate = { ...RATE, burst: 1 };
  assert.ok(isAdmitted(rate));
  assert.ok(!isAdmitted({ ...rate }));
  assert.ok(isAdmitted({ ...rate, calls: 4 }));
});
