import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { itemsOf, memberOf, openHouse, type House } from "./house.ts";
import { callWebhook, openWebhook, runWebhook } from "./running.ts";

let house: House;

before(async () => {
  house = await openHouse({ config: { DEVELOPMENT_INACTIVITY_SEC: 1 } });
});

after(() => house[Symbol.asyncDispose]());

/** Calls until there is another status than the one that is left. */
async function statusAfter(left: number): Promise<Response> {
  const until = performance.now() + 10_000;
  for (;;) {
    const answer = await callWebhook(house, "developed");
    if (answer.status !== left) return answer;
    await answer.body?.cancel();
    assert.ok(performance.now() < until, `it stays ${left}`);
  }
}

test("a development webhook answers while a user is active, otherwise 402", async () => {
  await openWebhook(house, "developed", { flow: "echo", is_productive: false });
  const token = await house.user("developer", []);
  await house.want(204, "POST", "/workspace/activity", { token });
  assert.equal((await callWebhook(house, "developed")).status, 201);
  const refused = await statusAfter(201);
  assert.equal(refused.status, 402);
  assert.equal(refused.headers.get("content-type"), "application/problem+json");
  assert.match(await refused.text(), /no user was active .* within the last 1 seconds.*Log in/);
  await house.want(204, "POST", "/workspace/activity", { token });
  assert.equal((await callWebhook(house, "developed")).status, 201);
  await statusAfter(201);
  await house.login();
  assert.equal((await callWebhook(house, "developed")).status, 201, "a login is activity too");
});

test("an execution of a development webhook is in development mode, and no connection", async () => {
  const used = async () =>
    memberOf((await house.want(200, "GET", "/workspace")).json, "connections");
  const before = await used();
  await house.want(204, "POST", "/workspace/activity");
  const execution = await runWebhook(house, "developed");
  assert.equal(memberOf(execution, "is_productive"), "false");
  assert.equal(await used(), before);
});

test("executions are where the webhook or the flow is; in a bundle, in the Default project", async () => {
  const folder = join(house.directory, "plugins/billing");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "bundle.yaml"), "name: billing\ndescription: Bills\n");
  await writeFile(join(folder, "invoice.ts"), "export default async () => 1;\n");
  await house.want(200, "POST", "/flow/reload");
  const bundle = await house.want(200, "GET", "/bundle/billing");
  assert.equal(memberOf(bundle.json, "flows"), '["billing.invoice"]');
  const idOf = async (name: string) =>
    memberOf((await house.want(200, "GET", `/project/${name}`)).json, "id");
  await house.want(201, "POST", "/project", { body: { name: "Own" } });
  const [own, standard] = [await idOf("Own"), await idOf("Default")];
  for (const [more, expected] of [
    [{ project_id: own }, own],
    [{ project_id: own, execution_location: "flow" }, standard],
    [{ bundle_id: "billing" }, standard],
    [{}, standard],
  ] as const) {
    const name = `located-${Object.values(more).join("-") || "nowhere"}`;
    await openWebhook(house, name, { flow: "billing.invoice", ...more });
    const execution = await runWebhook(house, name);
    assert.equal(memberOf(execution, "project_id"), expected, name);
    assert.equal(memberOf(execution, "is_productive"), "true");
  }
  const { json } = await house.want(200, "GET", `/execution?project_id=${own}`);
  assert.equal(itemsOf(json).length, 1);
});

test("the allowance is counted for productive calls, durably; beyond it 429 until next month", async () => {
  await using counting = await openHouse({ config: { CONNECTION_ALLOWANCE: 3 } });
  await openWebhook(counting, "counted", { flow: "echo" });
  await openWebhook(counting, "free", { flow: "echo", is_productive: false });
  for (const _ of [1, 2]) assert.equal((await callWebhook(counting, "counted")).status, 201);
  await counting.restart();
  const { json } = await counting.want(200, "GET", "/workspace");
  const month = new Date().toISOString().slice(0, 7);
  assert.deepEqual(JSON.parse(memberOf(json, "connections")), { month, used: 2, allowance: 3 });
  const statuses = await Promise.all(
    [1, 2, 3].map(async () => (await callWebhook(counting, "counted")).status),
  );
  assert.deepEqual(
    statuses.toSorted((a, b) => a - b),
    [201, 429, 429],
  );
  const refused = await callWebhook(counting, "counted");
  assert.equal(refused.status, 429);
  const seconds = Number(refused.headers.get("retry-after"));
  assert.ok(seconds > 0 && seconds <= 31 * 24 * 3600);
  assert.match(await refused.text(), /allowance_used/);
  assert.equal((await callWebhook(counting, "free")).status, 201);
  const executions = await counting.want(200, "GET", "/execution?webhook=counted");
  assert.equal(itemsOf(executions.json).length, 3, "a refused call records no execution");
});
