import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { send, type Answer } from "../blackbox/client.ts";
import { poll } from "../blackbox/scenario.ts";
import { openHouse, type House } from "./house.ts";
import { figure } from "./sizes.ts";

/** SIGTERM: what runs may end, who waits is sent on, what waits is kept. */

describe("shutdown", () => {
  test("running executions end within the grace, and their callers get the result", async () => {
    await using house = await openHouse({
      config: { SHUTDOWN_GRACE_SEC: 10 },
      flows: ["sleep"],
    });
    await house.createWebhook("sleep", "sleep", { is_productive: true });
    const leg = await waitingLeg(house, 1200);
    house.signal("SIGTERM");
    await poll("new calls to be refused", async () => {
      const refused = await house.call("sleep", "?async");
      return refused.status === 503 ? true : null;
    });
    const ready = await send(house.origin, { target: "/health/ready" });
    assert.equal(ready.status, 503);
    const answer = await leg.answer;
    assert.equal(answer.status, 200);
    assert.match(answer.text, /"slept":1200/);
    assert.equal(await house.ended(), 0);
  });

  test("beyond the grace: one 302 with Connection: close, then interrupted", async () => {
    await using house = await openHouse({
      config: { SHUTDOWN_GRACE_SEC: 0.5, WORKER_THREADS: 3, FLOW_MAX_CONCURRENT: 2 },
      flows: ["sleep"],
    });
    await house.createWebhook("sleep", "sleep", { is_productive: true });
    const legs = [await waitingLeg(house, 60_000), await waitingLeg(house, 60_000)];
    const pending = await waitingLeg(house, 5);
    const begun = performance.now();
    house.signal("SIGTERM");
    const answers = await Promise.all([...legs, pending].map((leg) => leg.answer));
    const code = await house.ended();
    figure("shutdown: SIGTERM to the end, with a grace of 500 ms", performance.now() - begun, "ms");
    for (const { status, headers } of answers) {
      assert.equal(status, 302);
      assert.equal(headers["connection"], "close");
    }
    assert.equal(code, 0);
    await house.start();
    const [interrupted, , resumed] = await Promise.all(
      answers.map((answer) => house.call("sleep", queryOf(answer))),
    );
    assert.match(interrupted?.text ?? "", /^ENDED_ERROR: interrupted by a restart/);
    assert.equal(resumed?.status, 200, "what was PENDING is run by the next start");
  });

  test("SIGTERM again and again, and in the first moment", async () => {
    await using house = await openHouse({ flows: ["sleep"] });
    await house.createWebhook("sleep", "sleep", { is_productive: true });
    await house.call("sleep", "?async&ms=300");
    for (let n = 0; n < 3; n += 1) house.signal("SIGTERM");
    const code = await house.ended();
    assert.ok(code === 0 || code === null, `exit code ${code}`);
    await house.start();
    await house.assertAlive();
  });
});

/** A second leg that waits; the first one has acknowledged its execution. */
async function waitingLeg(house: House, ms: number): Promise<{ readonly answer: Promise<Answer> }> {
  const first = await house.call("sleep", `?ms=${ms}`);
  assert.equal(first.status, 303);
  const answer = house.call("sleep", queryOf(first));
  answer.catch(() => undefined);
  // Answered after the leg has arrived, which was sent before.
  await house.assertAlive();
  return { answer };
}

function queryOf(answer: Answer): string {
  const location = answer.headers["location"] ?? "";
  return location.slice(location.indexOf("?"));
}
