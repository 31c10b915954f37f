import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openGate } from "./gate.ts";
import { itemsOf, memberOf, openTestService, type TestService } from "./test-service.ts";
import { callWebhook, endedExecution, openWebhook } from "./running.ts";

const [PACED, FAMILY] = ["paced", "family"].map((name) =>
  fileURLToPath(new URL(`flows/${name}.ts`, import.meta.url)),
) as [string, string];

let service: TestService;

before(async () => {
  const config = { WORKER_THREADS: 2, MAX_QUEUED_EXECUTIONS: 4000 };
  service = await openTestService({ plugins: [PACED, FAMILY], config });
  for (const name of ["first", "second"]) await openWebhook(service, name, { flow: "paced" });
});

after(() => service[Symbol.asyncDispose]());

async function start(webhook: string, gate: string): Promise<string> {
  const url = `${service.url}/api/latest/webhook/${webhook}/call?async&gate=${gate}`;
  return (await fetch(url, { method: "POST" })).text();
}

async function cancel(filter: object, more: object = {}) {
  return (await service.want(200, "POST", "/execution/cancel", { body: { filter }, ...more })).json;
}

test("H5: what fits a filter is cancelled at once, what runs and what waits, and nothing else", async () => {
  await using gate = await openGate();
  const held = [await start("first", gate.url)];
  await gate.arrived;
  for (let n = 0; n < 600; n += 1) held.push(await start("first", gate.url));
  const others = [await start("second", gate.url)];
  assert.deepEqual(await cancel({ webhook: "nothing" }), { matched: 0, cancelled: 0 });
  assert.deepEqual(await cancel({ webhook: "first", status: "PENDING" }), {
    matched: 600,
    cancelled: 600,
  });
  assert.deepEqual(await cancel({ webhook: "first" }), { matched: 1, cancelled: 1 });
  const { json } = await service.want(200, "GET", "/execution?status=ENDED_CANCELLED&limit=1");
  assert.equal(memberOf(itemsOf(json)[0]!, "status_message"), "Cancelled by the user admin");
  gate.open();
  for (const id of others)
    assert.equal(memberOf(await endedExecution(service, id), "status"), "ENDED_SUCCESS");
});

test("a filter takes a name in any form of Unicode", async () => {
  await openWebhook(service, "Büro", { flow: "paced" });
  await using gate = await openGate();
  const path = encodeURIComponent("Büro");
  const id = await start(path, gate.url);
  await gate.arrived;
  const webhook = "Büro".normalize("NFD");
  const query = `webhook=${encodeURIComponent(webhook)}`;
  const { json } = await service.want(200, "GET", `/execution?${query}`);
  assert.deepEqual(
    itemsOf(json).map((item) => item["id"]),
    [id],
  );
  assert.deepEqual(await cancel({ webhook }), { matched: 1, cancelled: 1 });
});

test("H5: a family that goes on starting others ends with one call", async () => {
  await openWebhook(service, "family", { flow: "family", role: "webhook" });
  const id = await (await callWebhook(service, "family", {})).text();
  for (;;) {
    const { json } = await service.want(200, "GET", `/execution?flow=family&limit=10`);
    if (itemsOf(json).length === 10) break;
  }
  assert.deepEqual(await cancel({ parent_id: "nobody" }), { matched: 0, cancelled: 0 });
  assert.ok(Number(memberOf(await cancel({ parent_id: id }), "matched")) > 0);
  await cancel({ flow: "family" });
  assert.deepEqual(await cancel({ flow: "family" }), { matched: 0, cancelled: 0 });
  assert.match(memberOf(await endedExecution(service, id), "status"), /^ENDED_/);
});

test("a cancel of what ends just then is told how it has ended", async () => {
  await openWebhook(service, "replacing", {
    flow: "paced",
    limits: { max_concurrent: 1, when_busy: "replace" },
  });
  await using gate = await openGate();
  await start("replacing", gate.url);
  await gate.arrived;
  const token = await service.login();
  let waiting = await start("replacing", gate.url);
  const details = new Set<string>();
  for (let n = 0; n < 100; n += 1) {
    const starting = start("replacing", gate.url);
    const { status, json } = await service.ask("POST", `/execution/${waiting}/cancel`, { token });
    if (status === 409) details.add(memberOf(json, "detail"));
    waiting = await starting;
  }
  assert.deepEqual([...details], ["The execution has ended as ENDED_CANCELLED already"]);
});

test("a filter that says nothing, or what cannot be, is refused", async () => {
  const errors: [unknown, RegExp][] = [
    [{}, /expected at least one of webhook, flow, status, parent_id/],
    [{ status: "ENDED_SUCCESS" }, /expected PENDING or RUNNING/],
    [{ webhok: "first" }, /unknown: did you mean .*webhook/],
    [undefined, /filter/],
  ];
  for (const [filter, says] of errors) {
    const { status, text } = await service.ask("POST", "/execution/cancel", { body: { filter } });
    assert.equal(status, 422, text);
    assert.match(text, says);
  }
});
