import assert from "node:assert/strict";
import { it } from "node:test";
import { untilNextPoll } from "../../src/server/executions/elsewhere.ts";

function pollsWithin(ms: number): number {
  let polls = 0;
  for (let waited = untilNextPoll(0); waited <= ms; waited += untilNextPoll(waited)) polls += 1;
  return polls;
}

it("looks for what ends elsewhere soon, and seldom for what takes long", () => {
  assert.equal(untilNextPoll(0), 15);
  assert.equal(untilNextPoll(100), 25);
  assert.equal(untilNextPoll(60_000), 250);
  assert.ok(pollsWithin(1000) <= 20);
  assert.ok(pollsWithin(60_000) <= 4 * 60 + 20);
});
