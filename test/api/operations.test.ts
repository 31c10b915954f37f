import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Json } from "../blackbox/service.ts";
import { itemsOf, memberOf, openTestService, type TestService } from "./test-service.ts";
import { endedExecution, openWebhook, outputOf, runWebhook } from "./running.ts";

const OPERATE = fileURLToPath(new URL("flows/operate.ts", import.meta.url));
const RELAY = fileURLToPath(new URL("flows/relay.ts", import.meta.url));

let service: TestService;

before(async () => {
  service = await openTestService({ plugins: [OPERATE, RELAY] });
  await service.want(201, "POST", "/setting", {
    body: { name: "greeting", value: { text: "hi" } },
  });
  for (const name of ["DECLARED", "OTHER"])
    await service.want(201, "POST", "/secret", { body: { name, value: `value of ${name}` } });
});

after(() => service[Symbol.asyncDispose]());

async function makeRole(name: string, permissions: string[], propagate: boolean): Promise<void> {
  const grants = permissions.map((permission) => ({ permission }));
  await service.want(201, "POST", "/role", { body: { name, permissions: grants, propagate } });
}

const ASKS = {
  "setting.read": { operation: "setting", name: "greeting" },
  "setting.write": { operation: "set_setting", name: "written", value: [1] },
  "secret.use": { operation: "secret", name: "DECLARED" },
  "execution.start": { operation: "start_execution", name: "echo", value: { a: 1 } },
};

test("an operation is allowed by a role that propagates and has the permission", async () => {
  for (const [permission, ask] of Object.entries(ASKS)) {
    await makeRole(`only ${permission}`, [permission], true);
    await openWebhook(service, permission, { flow: "operate", role: `only ${permission}` });
    const output = outputOf(await runWebhook(service, permission, ask));
    assert.ok("gave" in output, JSON.stringify(output));
  }
  const written = await service.want(200, "GET", "/setting/written");
  assert.equal(memberOf(written.json, "value"), "[1]");
});

test("a refusal names the permission that is missing", async () => {
  await makeRole("all but propagating", ["*"], false);
  await makeRole("empty", [], true);
  for (const role of [null, "all but propagating", "empty"]) {
    const name = `with ${role ?? "no role"}`;
    await openWebhook(service, name, { flow: "operate", role });
    for (const [permission, ask] of Object.entries(ASKS)) {
      const { refused } = outputOf(await runWebhook(service, encodeURIComponent(name), ask));
      assert.match(String(refused), new RegExp(`lacks the permission "${permission}"`), name);
    }
  }
});

test("settings belong to no project: a role for one project reaches none of them", async () => {
  const { json } = await service.want(201, "POST", "/project", { body: { name: "Narrow" } });
  const project_id = memberOf(json, "id");
  const permissions = Object.keys(ASKS).map((permission) => ({ permission, project_id }));
  await service.want(201, "POST", "/role", {
    body: { name: "narrow", permissions, propagate: true },
  });
  await openWebhook(service, "narrow", { flow: "operate", role: "narrow", project_id });
  for (const [permission, ask] of Object.entries(ASKS)) {
    const { refused } = outputOf(await runWebhook(service, "narrow", ask));
    if (permission.startsWith("setting."))
      assert.match(
        String(refused),
        new RegExp(`lacks the permission "${permission}".*all projects`),
      );
    else assert.equal(refused, undefined, permission);
  }
});

test("a secret is given only to a flow that declares it", async () => {
  const ask = (name: string) => runWebhook(service, "secret.use", { operation: "secret", name });
  assert.deepEqual(outputOf(await ask("DECLARED")), { gave: "value of DECLARED" });
  const { refused } = outputOf(await ask("OTHER"));
  assert.match(String(refused), /does not declare it.*secrets: \["OTHER"\]/);
});

test("a setting is JSON; one that is not there is null; a name that cannot be one is refused", async () => {
  const read = (name: string) =>
    runWebhook(service, "setting.read", { operation: "setting", name });
  assert.deepEqual(outputOf(await read("greeting")), { gave: { text: "hi" } });
  assert.deepEqual(outputOf(await read("nothing")), { gave: null });
  for (const name of ["a/b", "", "x".repeat(129), 7, null]) {
    const ask = { operation: "set_setting", name, value: 1 };
    const output = outputOf(await runWebhook(service, "setting.write", ask));
    assert.match(String(output["refused"]), /name/, JSON.stringify(name));
  }
});

test("names in operations are trimmed and made NFC, as those of resources are", async () => {
  const name = "  Büro\u00a0".normalize("NFD");
  const set = { operation: "set_setting", name, value: "of a flow" };
  assert.deepEqual(outputOf(await runWebhook(service, "setting.write", set)), { gave: null });
  const read = { operation: "setting", name };
  assert.deepEqual(outputOf(await runWebhook(service, "setting.read", read)), {
    gave: "of a flow",
  });
  const { json } = await service.want(200, "GET", `/setting/${encodeURIComponent("Büro")}`);
  assert.equal(memberOf(json, "value"), "of a flow");
  await service.want(204, "DELETE", `/setting/${encodeURIComponent("Büro")}`);
  const secret = { operation: "secret", name: " DECLARED" };
  const given = outputOf(await runWebhook(service, "secret.use", secret));
  assert.deepEqual(given, { gave: "value of DECLARED" });
  const blank = { operation: "set_setting", name: "   ", value: 1 };
  const { refused } = outputOf(await runWebhook(service, "setting.write", blank));
  assert.match(String(refused), /expected at least 1 character/);
});

test("a child has the permissions, the project and the mode of its parent", async () => {
  const project = await service.want(201, "POST", "/project", { body: { name: "Family" } });
  const project_id = memberOf(project.json, "id");
  const more = { flow: "operate", role: "only execution.start", project_id };
  await openWebhook(service, "parent", { ...more, is_productive: false });
  const json = { operation: "setting", name: "greeting" };
  const ask = { operation: "start_execution", name: "operate", value: { json } };
  const parent = await runWebhook(service, "parent", ask);
  const child = await endedExecution(service, String(outputOf(parent)["gave"]));
  assert.equal(memberOf(child, "parent_id"), memberOf(parent, "id"));
  for (const member of ["project_id", "role", "is_productive"])
    assert.equal(memberOf(child, member), memberOf(parent, member), member);
  assert.match(String(outputOf(child)["refused"]), /"setting.read"/);
});

test("a child that is waited for gives its ending, whatever that is", async () => {
  const ask = { operation: "start_execution", name: "echo", value: { a: 1 }, wait: true };
  const parent = await runWebhook(service, "execution.start", ask);
  const gave = outputOf(parent)["gave"] as Json;
  const child = await endedExecution(service, memberOf(gave, "id"));
  assert.equal(memberOf(child, "parent_id"), memberOf(parent, "id"));
  for (const member of ["status", "status_message", "output_value"])
    assert.deepEqual(memberOf(gave, member), memberOf(child, member), member);
  assert.equal(memberOf(gave, "status"), "ENDED_SUCCESS");
  const wrong = await runWebhook(service, "execution.start", { ...ask, wait: 1 });
  assert.match(String(outputOf(wrong)["refused"]), /takes \{ wait: true \}/);
});

test("an execution waits for none of its own flow, nor for one that waits for it", async () => {
  const own = { operation: "start_execution", name: "operate", value: {}, wait: true };
  const refused = outputOf(await runWebhook(service, "execution.start", own))["refused"];
  assert.match(String(refused), /An execution of "operate" would wait for another one of it/);
  const asked = { ...own, name: "relay", value: { start: "operate" } };
  const circle = outputOf(await runWebhook(service, "execution.start", asked))["gave"] as Json;
  assert.equal(memberOf(circle, "status"), "ENDED_ERROR");
  assert.match(memberOf(circle, "status_message"), /of "operate" would wait for another/);
  const free = {
    operation: "start_execution",
    name: "operate",
    value: { json: ASKS["secret.use"] },
  };
  assert.ok("gave" in outputOf(await runWebhook(service, "execution.start", free)));
});

test("started through the API, an execution has the permissions of who started it", async () => {
  await makeRole("starter", ["execution.start", "execution.read"], false);
  const token = await service.user("starter", ["starter"]);
  const start = async (ask: object, by?: string): Promise<Json> => {
    const { json } = await service.want(201, "POST", "/flow/operate/execution", {
      body: { input_value: { json: ask } },
      ...(by === undefined ? {} : { token: by }),
    });
    return endedExecution(service, memberOf(json, "id"));
  };
  const refused = outputOf(await start(ASKS["setting.write"], token));
  assert.match(String(refused["refused"]), /"setting.write"/);
  assert.ok("gave" in outputOf(await start(ASKS["setting.write"])));
  assert.ok("gave" in outputOf(await start(ASKS["execution.start"], token)));
});

test("a replay has the permissions of the original", async () => {
  const original = await runWebhook(service, "secret.use", ASKS["secret.use"]);
  const path = `/execution/${memberOf(original, "id")}/replay`;
  const { json } = await service.want(201, "POST", path, { body: {} });
  const replayed = await endedExecution(service, memberOf(json, "id"));
  assert.equal(memberOf(replayed, "replay_of"), memberOf(original, "id"));
  assert.deepEqual(outputOf(replayed), { gave: "value of DECLARED" });
  const other = { json: ASKS["setting.read"] };
  const changed = await service.want(201, "POST", path, { body: { input_value: other } });
  const ended = await endedExecution(service, memberOf(changed.json, "id"));
  assert.match(String(outputOf(ended)["refused"]), /"setting.read"/);
  const version = { flow_version: "nothing" };
  await service.want(422, "POST", path, { body: version });
});

test("EXECUTION_PERMISSIONS creator: what the webhook's creator may, and nobody lower edits it", async () => {
  const config = { EXECUTION_PERMISSIONS: "creator" };
  await using earlier = await openTestService({ plugins: [OPERATE], config });
  await openWebhook(earlier, "of-admin", { flow: "operate", role: null });
  const ask = ASKS["setting.write"];
  assert.ok("gave" in outputOf(await runWebhook(earlier, "of-admin", ask)));
  const token = await earlier.user("dev", ["developer"]);
  const flow = { flow: "echo" };
  await earlier.want(403, "PATCH", "/webhook/of-admin", { body: flow, token });
  const body = { name: "of-dev", flow: "operate" };
  await earlier.want(201, "POST", "/webhook", { body, token });
  await earlier.want(200, "PATCH", "/webhook/of-dev", { body: { description: "d" }, token });
  const imported = "format: flowhook/export/v1\nwebhooks:\n  - { name: of-admin, flow: echo }\n";
  await earlier.want(403, "POST", "/import?conflicts=replace", { text: imported, token });
});

test("secrets cannot be read back, and are listed by name", async () => {
  const one = await service.want(200, "GET", "/secret/DECLARED");
  const all = await service.want(200, "GET", "/secret");
  assert.deepEqual(
    itemsOf(all.json).map((item) => item["name"]),
    ["DECLARED", "OTHER"],
  );
  for (const { text } of [one, all]) assert.ok(!text.includes("value of"));
  await service.want(200, "PATCH", "/secret/DECLARED", { body: { value: "replaced" } });
  const output = outputOf(await runWebhook(service, "secret.use", ASKS["secret.use"]));
  assert.deepEqual(output, { gave: "replaced" });
});
