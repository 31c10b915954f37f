import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openGate } from "./gate.ts";
import { endedExecution, openWebhook } from "./running.ts";
import { openTestService, PASSWORD, type TestService } from "./test-service.ts";

const PACED = fileURLToPath(new URL("flows/paced.ts", import.meta.url));
const CLIENT = "203.0.113.7";

let service: TestService;

before(async () => {
  service = await openTestService({
    plugins: [PACED],
    config: {
      TRUSTED_PROXIES: ["127.0.0.1"],
      LOG_CALLS: true,
      WORKER_THREADS: 1,
      MAX_QUEUED_EXECUTIONS: 0,
    },
  });
  await openWebhook(service, "paced", { flow: "paced" });
});

after(() => service[Symbol.asyncDispose]());

type Line = { readonly [name: string]: unknown };

/** Lines of the log from an address. */
function linesFrom(address: string): Line[] {
  const lines = service
    .logs()
    .split("\n")
    .filter((line) => line.includes(`"address":"${address}"`));
  return lines.map((line) => JSON.parse(line) as Line);
}

function call(path: string, headers: Record<string, string>): Promise<Response> {
  return fetch(`${service.url}/api/latest/webhook/${path}`, { method: "POST", headers });
}

function login(user_name: string, password: string, address: string) {
  return service.ask("POST", "/auth/login", {
    token: null,
    body: { user_name, password },
    headers: { "x-forwarded-for": address },
  });
}

test("an ending's line has the client's address and the request id", async () => {
  const headers = { "x-forwarded-for": CLIENT, "x-request-id": "shop-1" };
  const answer = await call("paced/call?async", headers);
  await endedExecution(service, await answer.text());
  const [line] = linesFrom(CLIENT);
  assert.deepEqual(
    [line?.["msg"], line?.["status"], line?.["request_id"]],
    ["Execution ended", "ENDED_SUCCESS", "shop-1"],
  );
});

test("a refused call is a warning where the service could not take it, else it is not", async () => {
  const headers = { "x-forwarded-for": "203.0.113.8", "x-request-id": "shop-2" };
  await call("nothing/call", headers);
  await using gate = await openGate();
  const held = await (await call(`paced/call?async&gate=${gate.url}`, {})).text();
  await gate.arrived;
  assert.equal((await call("paced/call?async", headers)).status, 503);
  gate.open();
  await endedExecution(service, held);
  const lines = linesFrom("203.0.113.8").map(({ level, webhook, code, request_id }) => {
    return { level, webhook, code, request_id };
  });
  assert.deepEqual(lines, [
    { level: "info", webhook: "nothing", code: "not_found", request_id: "shop-2" },
    { level: "warn", webhook: "paced", code: "queue_full", request_id: "shop-2" },
  ]);
});

test("what a refused caller wrote is cut, on one line, and without keys", async () => {
  const key = "fhk_0123456789abcdefghijklmnopqrstuvwxyz";
  const name = encodeURIComponent(`a\n\u001b[31m\u202e${"x".repeat(500)}`);
  const headers = { "x-forwarded-for": "203.0.113.9", "x-request-id": key };
  await call(`${name}/call?key=${key}`, headers);
  await call(`${key}/call`, { ...headers, authorization: `Bearer ${key}` });
  const [hostile, keyed] = linesFrom("203.0.113.9");
  assert.match(String(hostile?.["reason"]), /"a\\u000a\\u001b\[31m\\u202ex{200,}\.\.\.$/);
  assert.ok(String(hostile?.["webhook"]).length < 320);
  assert.equal(keyed?.["webhook"], "***");
  assert.ok(!service.logs().includes(key), "a key is in the log");
});

test("failed logins are warnings with the address, and with names that there are", async () => {
  const address = "203.0.113.10";
  assert.equal((await login("admin", "wrong", address)).status, 401);
  assert.equal((await login("my-secret-password", "wrong", address)).status, 401);
  const lines = linesFrom(address).map(({ level, msg, user }) => [level, msg, user]);
  assert.deepEqual(lines, [
    ["warn", "Login failed", "admin"],
    ["warn", "Login failed", null],
  ]);
  assert.ok(!service.logs().includes("my-secret-password"));
});

test("a lock-out is one line, however many attempts follow", async () => {
  const address = "203.0.113.11";
  await service.user("victim", []);
  const replies = await Promise.all(
    Array.from({ length: 14 }, (_, at) => login("victim", `guess ${at}`, address)),
  );
  assert.equal(replies.filter(({ status }) => status === 429).length, 4);
  const lines = linesFrom(address).map(({ msg }) => String(msg));
  assert.equal(lines.filter((msg) => msg === "Login failed").length, 10);
  assert.equal(lines.filter((msg) => msg.includes("locked out")).length, 1);
  assert.equal(lines.length, 11);
});

test("a wrong password for a change that needs it is a warning with the address", async () => {
  const token = await service.user("changing", []);
  await service.want(403, "PUT", "/auth/password", {
    token,
    body: { password: "wrong", new_password: `${PASSWORD} next` },
    headers: { "x-forwarded-for": "203.0.113.12" },
  });
  const [line] = linesFrom("203.0.113.12");
  assert.deepEqual(
    [line?.["level"], line?.["msg"], line?.["user"]],
    ["warn", "Own password was wrong", "changing"],
  );
});
