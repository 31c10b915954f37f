import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  ADMIN_PASSWORD,
  itemsOf,
  openTestService,
  PASSWORD,
  type TestService,
} from "./test-service.ts";

let service: TestService;

before(async () => {
  service = await openTestService();
});

after(() => service[Symbol.asyncDispose]());

async function latest(query = ""): Promise<{ [name: string]: unknown }> {
  const { json } = await service.want(200, "GET", `/audit?limit=1${query}`);
  return itemsOf(json)[0]!;
}

test("a change is written down: who, what, to what, from where, with what result", async () => {
  const before = Date.now();
  const body = { name: "audited", flow: "echo", description: "words" };
  await service.want(201, "POST", "/webhook", { body });
  const { id: _id, at, ...entry } = await latest();
  assert.ok(Date.parse(String(at)) >= before);
  assert.deepEqual(entry, {
    user_name: "admin",
    address: "127.0.0.1",
    action: "webhook.create",
    target: "audited",
    result: "201",
    members: ["name", "flow", "description"],
  });
});

test("so are refused attempts, with the reason, whoever they were", async () => {
  const token = await service.user("viewer", ["viewer"]);
  const body = { value: "a value of a test" };
  const lockout = [
    [403, { token, body }, ["viewer", "forbidden"]],
    [401, { token: null, body }, [null, "not_authenticated"]],
    [401, { token: "fht_made-up", body }, [null, "not_authenticated"]],
    [404, { body }, ["admin", "not_found"]],
    [422, { body: { value: 7 } }, ["admin", "invalid"]],
  ] as const;
  for (const [status, request, expected] of lockout) {
    await service.want(status, "PATCH", "/secret/audited", request);
    const entry = await latest();
    assert.deepEqual([entry["user_name"], entry["result"]], expected);
    assert.deepEqual([entry["action"], entry["target"]], ["secret.change", "audited"]);
  }
});

test("so are logins, and failed ones", async () => {
  const login = (password: string) =>
    service.ask("POST", "/auth/login", { token: null, body: { user_name: "viewer", password } });
  for (const [password, result] of [
    ["wrong", "not_authenticated"],
    [PASSWORD, "200"],
  ] as const) {
    await login(password);
    const entry = await latest();
    assert.deepEqual(
      [entry["action"], entry["target"], entry["result"], entry["members"]],
      ["auth.login", "viewer", result, ["user_name", "password"]],
    );
  }
});

test("so are those of the login screen", async () => {
  const logIn = (user_name: string, password: string) =>
    fetch(`${service.url}/ui/login`, {
      method: "POST",
      body: new URLSearchParams({ user_name, password }),
      redirect: "manual",
    });
  for (const [password, status, result] of [
    ["wrong", 401, "not_authenticated"],
    [ADMIN_PASSWORD, 303, "200"],
  ] as const) {
    assert.equal((await logIn("admin", password)).status, status);
    const { id: _id, at: _at, ...entry } = await latest("&action=auth.login");
    assert.deepEqual(entry, {
      user_name: null,
      address: "127.0.0.1",
      action: "auth.login",
      target: "admin",
      result,
      members: ["user_name", "password"],
    });
  }
  await Promise.all(Array.from({ length: 10 }, () => logIn("locked", "wrong")));
  assert.equal((await logIn("locked", "wrong")).status, 429);
  assert.equal((await latest("&action=auth.login"))["result"], "too_many_attempts");
});

test("what is no user's name may be a password in the wrong field, and is not kept", async () => {
  const body = { user_name: "hunter2-hunter2", password: "admin" };
  assert.equal((await service.ask("POST", "/auth/login", { token: null, body })).status, 401);
  const { target, result } = await latest("&action=auth.login");
  assert.deepEqual([target, result], [null, "not_authenticated"]);
});

test("an import, a password and a logout name what they acted on", async () => {
  const text = "format: flowhook/export/v1\nwebhooks:\n  - { name: one, flow: echo }\n";
  await service.want(200, "POST", "/import", { text });
  assert.deepEqual(
    [(await latest())["action"], (await latest())["target"]],
    ["webhook.import", "one"],
  );
  const body = { password: ADMIN_PASSWORD, new_password: ADMIN_PASSWORD };
  await service.want(204, "PUT", "/auth/password", { body });
  assert.equal((await latest())["target"], "admin");
});

test("names of members that nobody knows are left out: they might be a value gone astray", async () => {
  const body = { name: "astray", "sk-live-123": 1, flow: "echo" };
  await service.want(422, "POST", "/webhook", { body });
  assert.deepEqual((await latest())["members"], ["name", "flow"]);
});

test("what only reads leaves no entry", async () => {
  const before = await latest();
  await service.want(200, "GET", "/webhook");
  await service.want(404, "GET", "/webhook/nothing");
  assert.deepEqual(await latest(), before);
});

test("a flood of strangers fills no audit, and hides nobody who is logged in", async () => {
  await using flooded = await openTestService();
  const lockout = Array.from({ length: 400 }, () =>
    flooded.ask("POST", "/flow/reload", { token: null }),
  );
  assert.ok((await Promise.all(lockout)).every(({ status }) => status === 401));
  const query = "/audit?action=flow.reload&limit=500";
  const { json } = await flooded.want(200, "GET", query);
  assert.equal(itemsOf(json).length, 300);
  await flooded.want(200, "POST", "/flow/reload");
  const after = await flooded.want(200, "GET", query);
  assert.equal(itemsOf(after.json)[0]?.["user_name"], "admin");
});

test("entries are filtered by who, what and to what", async () => {
  const by = async (query: string) =>
    itemsOf((await service.want(200, "GET", `/audit?${query}`)).json);
  assert.ok((await by("user_name=viewer")).every((entry) => entry["user_name"] === "viewer"));
  assert.ok((await by("action=auth.login")).every((entry) => entry["action"] === "auth.login"));
  assert.ok((await by("target=audited")).every((entry) => entry["target"] === "audited"));
  assert.deepEqual(await by("action=nothing"), []);
});
