import assert from "node:assert/strict";
import { test } from "node:test";
import {
  claim,
  countBegun,
  newClaims,
  recall,
  recallUnbegun,
} from "../../src/shared/wire/claims.ts";

/** What a thread has begun, and what was recalled from it. */

test("a run that was recalled does not begin, and those before it are counted", () => {
  const claims = newClaims();
  assert.equal(countBegun(claims), 1);
  assert.deepEqual([claim(claims, 0, 0), claim(claims, 0, 1)], [true, true]);
  assert.equal(recall(claims, 0), 2);
  assert.equal(claim(claims, 0, 2), false);
  assert.equal(claim(claims, 1, 0), true);
  assert.equal(countBegun(claims), 1);
});

test("the first of a round begins though it was recalled", () => {
  const claims = newClaims();
  assert.equal(recall(claims, 0), 1);
  assert.equal(claim(claims, 0, 0), true);
  assert.equal(claim(claims, 0, 1), false);
});

test("where no more have begun the first comes back too, and never begins", () => {
  const claims = newClaims();
  assert.equal(recallUnbegun(claims, 0, 0), false, "it may be slow to start");
  assert.ok(claim(claims, 0, 0));
  assert.equal(recallUnbegun(claims, 0, 0), false, "it has begun");
  assert.equal(recall(claims, 0), 1);
  assert.equal(recallUnbegun(claims, 1, 0), true);
  assert.deepEqual([claim(claims, 1, 0), claim(claims, 1, 1)], [false, false]);
  recall(claims, 3);
  assert.equal(claim(claims, 1, 0), false, "whatever else is recalled until it has ended");
});

test("either a run begins or it is recalled", () => {
  for (const isFirst of [true, false]) {
    const claims = newClaims();
    assert.ok(claim(claims, 0, 0));
    const begins = () => claim(claims, 0, 1);
    const comesBack = () => recallUnbegun(claims, 0, 1);
    const told = isFirst ? [begins(), comesBack()] : [comesBack(), begins()];
    assert.deepEqual(told, [true, false]);
  }
});

test("as many as a thread may have are counted, in as many rounds", () => {
  const claims = newClaims();
  const many = 100_000;
  for (let at = 0; at < many; at += 1) assert.ok(claim(claims, 0, at));
  assert.equal(recall(claims, 0), many);
  for (let round = 1; round < many; round += 1) {
    assert.ok(claim(claims, round, 0));
    assert.equal(recall(claims, round), 1);
  }
  assert.equal(claim(claims, many, 0), true);
  assert.equal(claim(claims, many, 1), true);
  assert.equal(countBegun(claims), 2);
});
