import assert from "node:assert/strict";
import { test } from "node:test";
import { differenceOf } from "../../src/server/store/postgres/node.ts";

test("what the way to the database and back takes is no difference of the clocks", () => {
  assert.equal(differenceOf(1_000, 999, 1_400), 0, "the answer took long");
  assert.equal(differenceOf(1_400, 1_000, 1_401), 0, "the question did");
});

test("a clock that differs by more is behind, or ahead", () => {
  assert.equal(differenceOf(6_000, 1_000, 1_010), 4_990);
  assert.equal(differenceOf(1_000, 6_000, 6_010), -5_000);
});
