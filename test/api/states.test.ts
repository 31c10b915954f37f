import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { itemsOf, memberOf, openTestService, type TestService } from "./test-service.ts";
import { callWebhook, endedExecution, openWebhook, runWebhook } from "./running.ts";
import { HUNG_MS } from "../hung.ts";

let service: TestService;

const INACTIVITY_SEC = 1;

before(async () => {
  const config = { DEVELOPMENT_INACTIVITY_SEC: INACTIVITY_SEC };
  service = await openTestService({ config });
});

after(() => service[Symbol.asyncDispose]());

/** Calls until there is another status than the one that is left. */
async function statusAfter(left: number): Promise<Response> {
  const until = performance.now() + HUNG_MS;
  for (;;) {
    const answer = await callWebhook(service, "developed");
    if (answer.status !== left) return answer;
    await answer.body?.cancel();
    assert.ok(performance.now() < until, `it stays ${left}`);
  }
}

/**
 * The answer to a call right after an act of a user. Where the machine paused between the two for as
 * long as a user counts as active, a refusal says nothing: both are made again.
 */
async function callAfter(act: () => Promise<unknown>): Promise<Response> {
  for (;;) {
    const begun = performance.now();
    await act();
    const answer = await callWebhook(service, "developed");
    const isLate = performance.now() - begun > INACTIVITY_SEC * 1000;
    if (!isLate || answer.status !== 402) return answer;
    await answer.body?.cancel();
  }
}

test("a development webhook answers while a user is active, otherwise 402", async () => {
  await openWebhook(service, "developed", { flow: "echo", is_productive: false });
  const token = await service.user("developer", []);
  const report = () => service.want(204, "POST", "/workspace/activity", { token });
  assert.equal((await callAfter(report)).status, 201);
  const refused = await statusAfter(201);
  assert.equal(refused.status, 402);
  assert.equal(refused.headers.get("content-type"), "application/problem+json");
  assert.match(await refused.text(), /no user was active .* within the last 1 seconds.*Log in/);
  assert.equal((await callAfter(report)).status, 201);
  await statusAfter(201);
  assert.equal((await callAfter(() => service.login())).status, 201, "a login is activity too");
});

test("the workspace tells its folder, its limits and what its store takes", async () => {
  await using own = await openTestService({ config: { MAX_QUEUED_EXECUTIONS: 7 } });
  const { json } = await own.want(200, "GET", "/workspace");
  assert.equal(memberOf(json, "plugins_dir"), join(own.directory, "plugins"));
  assert.match(memberOf(json, "runtime"), /^(node|deno) \d/);
  const counts = JSON.parse(memberOf(json, "executions")) as Record<string, number>;
  assert.equal(counts["waiting_limit"], 7);
  assert.ok(counts["running_limit"]! >= 1);
  const store = JSON.parse(memberOf(json, "store")) as Record<string, number>;
  assert.ok(store["database_bytes"]! > 0 && store["disk_free_bytes"]! < store["disk_bytes"]!);
});

test("an execution of a development webhook is in development mode, and no connection", async () => {
  const used = async () =>
    memberOf((await service.want(200, "GET", "/workspace")).json, "connections");
  const before = await used();
  const answer = await callAfter(() => service.want(204, "POST", "/workspace/activity"));
  assert.equal(answer.status, 201);
  const execution = await endedExecution(service, await answer.text());
  assert.equal(memberOf(execution, "is_productive"), "false");
  assert.equal(await used(), before);
});

test("executions are where the webhook or the flow is; in a bundle, in the Default project", async () => {
  const folder = join(service.directory, "plugins/billing");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "bundle.yaml"), "name: billing\ndescription: Bills\n");
  await writeFile(join(folder, "invoice.ts"), "export default async () => 1;\n");
  await service.want(200, "POST", "/flow/reload");
  const bundle = await service.want(200, "GET", "/bundle/billing");
  assert.equal(memberOf(bundle.json, "flows"), '["billing.invoice"]');
  const idOf = async (name: string) =>
    memberOf((await service.want(200, "GET", `/project/${name}`)).json, "id");
  await service.want(201, "POST", "/project", { body: { name: "Own" } });
  const [own, standard] = [await idOf("Own"), await idOf("Default")];
  for (const [more, expected] of [
    [{ project_id: own }, own],
    [{ project_id: own, execution_location: "flow" }, standard],
    [{ bundle_id: "billing" }, standard],
    [{}, standard],
  ] as const) {
    const name = `located-${Object.values(more).join("-") || "nowhere"}`;
    await openWebhook(service, name, { flow: "billing.invoice", ...more });
    const execution = await runWebhook(service, name);
    assert.equal(memberOf(execution, "project_id"), expected, name);
    assert.equal(memberOf(execution, "is_productive"), "true");
  }
  const { json } = await service.want(200, "GET", `/execution?project_id=${own}`);
  assert.equal(itemsOf(json).length, 1);
});

test("the allowance is counted for productive calls, durably; beyond it 429 until next month", async () => {
  await using counting = await openTestService({ config: { CONNECTION_ALLOWANCE: 3 } });
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
