import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { assertNotKept } from "../blackbox/canary.ts";
import { runCommand } from "../blackbox/command.ts";
import { openTarget } from "../blackbox/target.ts";
import { itemsOf, memberOf, openTestService, PASSWORD, type TestService } from "./test-service.ts";
import {
  callWebhook,
  enable,
  endedExecution,
  openWebhook,
  outputOf,
  runWebhook,
} from "./running.ts";

const OPERATE = fileURLToPath(new URL("flows/operate.ts", import.meta.url));

/** Each is used wherever it has a use, and is to be found nowhere. */
const CANARY = {
  key: "canary-key-4f1d8f3a5b",
  old_key: "canary-old-key-9a8b7c",
  wrong_key: "canary-wrong-key-77aa",
  password: "canary-password-0c2e4a",
  wrong_password: "canary-wrong-password-11",
  secret: "canary-secret-5d6e7f8a",
  planted: "planted-where-all-can-see",
};

/** Everything that the API and the pages show. */
async function readAll(service: TestService, executions: readonly string[]): Promise<string> {
  const lists = ["webhook", "execution", "flow", "project", "role", "user", "setting", "secret"];
  const paths = [...lists, "bundle", "token?all=true", "audit?limit=500", "export", "workspace"];
  const records = executions.flatMap((id) => [`execution/${id}`, `execution/${id}/log`]);
  const more = ["auth/me", "openapi.json", "statistics?by=webhook", "webhook/canary"];
  const heads: string[] = [];
  // One after the other: nobody may ask for many lists at once.
  for (const path of [...paths, ...records, ...more]) {
    const { text, headers } = await service.want(200, "GET", `/${path}`);
    heads.push(text + JSON.stringify([...headers]));
  }
  const ui = ["/ui/", "/ui/login", "/ui/webhooks", "/ui/webhooks/canary", "/ui/executions"];
  const pages = ["/metrics", "/health/ready", "/api/latest/reference", ...ui];
  const cookie = `service-token=${await service.login()}`;
  const texts = pages.map(async (path) => {
    return (await fetch(service.url + path, { headers: { cookie } })).text();
  });
  return [...heads, ...(await Promise.all(texts))].join("\n");
}

/** Uses each canary in each place that takes it; returns the executions and the tokens. */
async function useAll(service: TestService): Promise<{ executions: string[]; tokens: string[] }> {
  const token = await useLogins(service);
  await service.want(201, "POST", "/secret", { body: { name: "DECLARED", value: CANARY.secret } });
  await openWebhook(service, "secretive", { flow: "operate", role: "webhook" });
  const ask = { operation: "secret", name: "DECLARED" };
  const secretive = await runWebhook(service, "secretive", ask);
  // The flow returned it: that is its own doing, and what the planting shows.
  assert.equal(outputOf(secretive)["gave"], CANARY.secret);
  const executions = await useKeys(service, token);
  return { executions, tokens: [token] };
}

async function useLogins(service: TestService): Promise<string> {
  await service.want(201, "POST", "/user", {
    body: { name: "canary", password: CANARY.password, roles: ["admin"] },
  });
  const wrong = { user_name: "canary", password: CANARY.wrong_password };
  await service.want(401, "POST", "/auth/login", { token: null, body: wrong });
  const token = await service.login("canary", CANARY.password);
  const body = { password: CANARY.password, new_password: CANARY.password };
  await service.want(204, "PUT", "/auth/password", { body, token });
  await service.want(422, "PUT", "/auth/password", { body: { ...body, new_password: 7 }, token });
  await service.want(400, "PUT", "/auth/password", {
    text: `{"password":"${CANARY.password}"`,
    token,
  });
  return token;
}

async function useKeys(service: TestService, token: string): Promise<string[]> {
  await openWebhook(service, "canary", { flow: "echo" });
  await enable(service, "canary", { key: CANARY.old_key, require_login: true });
  await enable(service, "canary", { key: CANARY.key, keep_previous_sec: 3600 });
  const answers: Response[] = [];
  for (const key of [CANARY.key, CANARY.old_key]) {
    const login = { "x-service-token": token };
    const cookie = { cookie: `service-token=${token}; other=1` };
    answers.push(
      await callWebhook(service, "canary", {}, { ...login, authorization: `Bearer ${key}` }),
    );
    answers.push(await callWebhook(service, "canary", { key, rest: 1 }, cookie));
    const url = `${service.url}/api/latest/webhook/canary/call?async&key=${key}`;
    answers.push(await fetch(url, { headers: login }));
    const sync = url.replace("async&", "");
    const redirect = await fetch(sync, { headers: login, redirect: "manual" });
    assert.equal(redirect.status, 303);
    assert.ok(!JSON.stringify([...redirect.headers]).includes(key), "not in a Location");
  }
  const refused = await callWebhook(
    service,
    "canary",
    {},
    { authorization: `Bearer ${CANARY.wrong_key}` },
  );
  assert.equal(refused.status, 401);
  const ids = await Promise.all(answers.map((answer) => answer.text()));
  for (const id of ids) await endedExecution(service, id);
  return ids;
}

test("what opens a door is kept nowhere, and shown nowhere", async () => {
  await using service = await openTestService({
    plugins: [OPERATE],
    config: { LOG_LEVEL: "debug" },
  });
  const { executions, tokens } = await useAll(service);
  assert.equal(executions.length, 6);
  const { planted, secret, ...rest } = CANARY;
  const texts = [...Object.values(rest), PASSWORD, ...tokens];
  const shown = await readAll(service, executions);
  for (const text of texts) assert.ok(!shown.includes(text), `"${text}" is shown`);
  assert.ok(!shown.includes(secret), "a secret is shown only where a flow shows it");

  // The scanner finds what is planted: in a record, in the log, and in what is shown.
  await service.want(201, "POST", "/setting", { body: { name: "s", value: planted } });
  assert.ok((await readAll(service, [])).includes(planted));
  await assert.rejects(assertNotKept(service, service.logs(), [planted]), /flowhook\.db/);
  await assert.rejects(assertNotKept(service, `a ${planted} b`, [planted]), /log/);

  // While it runs, with the write-ahead log beside the database, and after it has stopped.
  await assertNotKept(service, service.logs(), texts);
  const backup = await runCommand(openTarget(), ["backup", "data/copy.backup"], {
    cwd: service.directory,
  });
  assert.equal(backup.code, 0, backup.stderr);
  await assertNotKept(service, service.logs(), texts);
  await service.stop();
  await assertNotKept(service, service.logs(), texts);
});

test("a secret is sealed at rest, and only the execution that returned it shows it", async () => {
  await using service = await openTestService({ plugins: [OPERATE] });
  await service.want(201, "POST", "/secret", { body: { name: "DECLARED", value: CANARY.secret } });
  await openWebhook(service, "quiet", { flow: "operate", role: "webhook" });
  const refused = await runWebhook(service, "quiet", { operation: "secret", name: "OTHER" });
  assert.ok("refused" in outputOf(refused));
  await service.want(200, "PATCH", "/secret/DECLARED", { body: { value: `${CANARY.secret}-2` } });
  await assertNotKept(service, service.logs(), [CANARY.secret]);
  const loud = await runWebhook(service, "quiet", { operation: "secret", name: "DECLARED" });
  assert.equal(memberOf(loud, "status"), "ENDED_SUCCESS");
  await assert.rejects(assertNotKept(service, "", [CANARY.secret]), /flowhook\.db/);
  const audit = await service.want(200, "GET", "/audit?limit=500");
  assert.ok(itemsOf(audit.json).length > 0 && !audit.text.includes(CANARY.secret));
});
