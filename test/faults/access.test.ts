import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { after, before, describe, test } from "node:test";
import type { Origin } from "../blackbox/client.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { openTestService, type TestService } from "./test-service.ts";
import { figure, GUESSES, quantile } from "./sizes.ts";

/** Wrong keys and wrong passwords in bulk: guesses become slow, and who is right is let in. */

const KEY = "faults-suite-key-that-is-right";

/** A call whose body has not come; its end resolves with the status. */
async function beginCall({ host, port }: Origin, webhook: string): Promise<() => Promise<number>> {
  const headers = { "content-type": "application/json", expect: "100-continue" };
  const path = `/api/latest/webhook/${webhook}/call?async&key=${KEY}`;
  const sent = request({ host, port, path, method: "POST", headers });
  sent.flushHeaders();
  await once(sent, "continue");
  return async () => {
    sent.end("{}");
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    answer.resume();
    return answer.statusCode ?? 0;
  };
}

describe("guesses", () => {
  let service: TestService;
  before(async () => {
    service = await openTestService({ flows: ["echo"] });
    await service.createWebhook("keyed", "echo", { key: KEY, is_productive: true });
  });
  after(() => service[Symbol.asyncDispose]());

  test("wrong keys in bulk", async () => {
    const begun = performance.now();
    const guesses = Promise.all(
      Array.from({ length: GUESSES }, async (_, n) => {
        const answer = await service.call("keyed", `?key=wrong-key-number-${n}`);
        return { status: answer.status, ms: performance.now() - begun };
      }),
    );
    const right: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      const at = performance.now();
      const answer = await service.call("keyed", `?key=${KEY}&async`);
      right.push(performance.now() - at);
      assert.equal(answer.status, 201, "the right key is let in from the same address");
    }
    const answers = await guesses;
    figure("wrong keys: guesses", GUESSES);
    figure("wrong keys: let in", answers.filter(({ status }) => status !== 401).length);
    figure("wrong keys: the last one refused after", Math.max(...answers.map((a) => a.ms)), "ms");
    figure("wrong keys: the right key meanwhile, median", quantile(right, 0.5), "ms");
    assert.ok(answers.every(({ status }) => status === 401));
    assert.ok(Math.max(...answers.map((a) => a.ms)) > 2000, "many guesses become slow");
  });

  test("what is taken from a webhook admits no call whose body still comes", async () => {
    for (const name of ["deleted", "locked"])
      await service.createWebhook(name, "echo", { key: KEY, is_productive: true });
    const replace = (fields: object) =>
      service.api("PUT", "/webhook/locked/authentication", {
        password: ADMIN_PASSWORD,
        is_enabled: true,
        require_login: false,
        ...fields,
      });
    const kept = await beginCall(service.origin, "locked");
    await replace({ key: `${KEY}-next`, keep_previous_sec: 60 });
    assert.equal(await kept(), 201, "the previous key is kept for a while");
    await replace({ key: KEY });
    const [gone, locked] = [
      await beginCall(service.origin, "deleted"),
      await beginCall(service.origin, "locked"),
    ];
    assert.equal((await service.api("DELETE", "/webhook/deleted")).status, 204);
    assert.equal((await replace({ key: `${KEY}-other` })).status, 200);
    assert.deepEqual([await gone(), await locked()], [404, 401]);
  });

  test("wrong passwords in bulk", async () => {
    const begun = performance.now();
    const statuses = await Promise.all(
      Array.from({ length: GUESSES }, async (_, n) => {
        const given = { user_name: "admin", password: `wrong password ${n}` };
        return (await service.api("POST", "/auth/login", given, "")).status;
      }),
    );
    const refused = statuses.filter((status) => status === 429).length;
    figure("wrong passwords: guesses", GUESSES);
    figure("wrong passwords: refused without a look", refused);
    figure("wrong passwords: all answered after", performance.now() - begun, "ms");
    assert.ok(statuses.every((status) => status === 401 || status === 429));
    assert.ok(refused >= GUESSES - 20);
    const given = { user_name: "admin", password: ADMIN_PASSWORD };
    assert.equal((await service.api("POST", "/auth/login", given, "")).status, 429);
    assert.equal((await service.api("GET", "/auth/me")).status, 200, "who is in stays in");
    await service.assertAlive();
  });

  test("L13: a proxy that nobody trusts is told of in the log, once", async () => {
    for (let n = 0; n < 5; n += 1)
      await service.call("keyed", "", { headers: { "x-forwarded-for": `203.0.113.${n}` } });
    const told = service.logs().match(/X-Forwarded-For came from a peer/g) ?? [];
    assert.equal(told.length, 1);
    assert.ok(!service.logs().includes("203.0.113."), "what the header says stays out of the log");
  });

  test("tokens that nobody has", async () => {
    const texts = ["", "fht_", "fht_".padEnd(5000, "a"), "null", "../..", "%00", "é".repeat(10)];
    for (const text of texts) {
      const answer = await service.api("GET", "/auth/me", undefined, text);
      assert.equal(answer.status, 401, JSON.stringify(text).slice(0, 40));
    }
    const forged = "00000000-0000-7000-8000-000000000000.forged";
    const answer = await service.call("keyed", `?__wait_execution_id=${forged}`);
    assert.equal(answer.status, 401);
    await service.assertAlive();
  });
});
