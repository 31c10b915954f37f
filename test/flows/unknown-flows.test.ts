import assert from "node:assert/strict";
import { test } from "node:test";
import { UnknownFlows } from "../../src/server/flows/unknown-flows.ts";

/** A caller of a flow that is nowhere does not make the database work. */

test("a flow is asked for once a second, and all who want it wait for one answer", async () => {
  let asked = 0;
  const begun = performance.now();
  const answer = Promise.withResolvers<void>();
  const unknown = new UnknownFlows(() => {
    asked += 1;
    return answer.promise;
  });
  const all = Promise.all(Array.from({ length: 100 }, () => unknown.ask("a")));
  answer.resolve();
  await all;
  await unknown.ask("a");
  // Where this process paused for that second, it is asked for again.
  const isLate = performance.now() - begun > 1000;
  assert.ok(asked === 1 || (isLate && asked === 2), `${asked} times`);
  const before = asked;
  await unknown.ask("b");
  assert.equal(asked, before + 1);
});

test("where the others cannot be asked, it is as unknown as before", async () => {
  const unknown = new UnknownFlows(() => Promise.reject(new Error("away")));
  await unknown.ask("a");
});
