import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { AUDITED } from "../../src/server/api/audit-changes.ts";
import { ROUTES } from "../../src/server/api/routes.ts";
import { WEBHOOK_DOCUMENT } from "../../src/shared/contract/webhook-document.ts";
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
    node: null,
    action: "webhook.create",
    target: "audited",
    result: "201",
    members: ["name", "flow", "description"],
    changes: [
      { member: "name", from: null, to: "audited" },
      { member: "description", from: null, to: "words" },
      { member: "flow", from: null, to: "echo" },
    ],
  });
});

async function changesAfter(
  status: number,
  method: string,
  path: string,
  request: { body?: unknown; text?: string } = {},
): Promise<unknown> {
  await service.want(status, method, path, request);
  return (await latest())["changes"];
}

test("roles are a set: given in another order they are no change", async () => {
  const roles = ["developer", "operator"];
  const body = { name: "ordered", password: PASSWORD, roles };
  const made = await service.want(201, "POST", "/user", { body });
  assert.deepEqual((made.json as { roles: unknown }).roles, roles);
  const turned = { body: { roles: roles.toReversed() } };
  const { json } = await service.want(200, "PATCH", "/user/ordered", turned);
  assert.deepEqual((json as { roles: unknown }).roles, roles);
  assert.deepEqual((await latest())["changes"], []);
});

test("a change says from what to what", async () => {
  const body = { default_mode: "async", methods: ["POST"], description: "words", flow: "echo" };
  const changes = await changesAfter(200, "PATCH", "/webhook/audited", { body });
  assert.deepEqual(changes, [
    { member: "default_mode", from: "sync", to: "async" },
    { member: "methods", from: null, to: ["POST"] },
  ]);
  const own = { password: ADMIN_PASSWORD };
  const access = { ...own, is_enabled: true, key: null, allowed_addresses: ["10.0.0.0/8"] };
  assert.deepEqual(
    await changesAfter(200, "PUT", "/webhook/audited/authentication", { body: access }),
    [
      { member: "is_enabled", from: false, to: true },
      { member: "is_key_required", from: true, to: false },
      { member: "allowed_addresses", from: [], to: ["10.0.0.0/8"] },
    ],
  );
  const role = { name: "auditor", permissions: ["audit.read"], ...own };
  const before = [{ permission: "audit.read", project_id: null }];
  assert.deepEqual(await changesAfter(201, "POST", "/role", { body: role }), [
    { member: "name", from: null, to: "auditor" },
    { member: "permissions", from: null, to: before },
  ]);
  const more = { permissions: ["audit.read", "user.*"], ...own };
  assert.deepEqual(await changesAfter(200, "PATCH", "/role/auditor", { body: more }), [
    {
      member: "permissions",
      from: before,
      to: [...before, { permission: "user.*", project_id: null }],
    },
  ]);
  assert.deepEqual(
    await changesAfter(200, "PATCH", "/role/auditor", { body: { name: "audits", ...own } }),
    [{ member: "name", from: "auditor", to: "audits" }],
  );
});

test("what was deleted is told with what it was", async () => {
  await service.want(201, "POST", "/project", { body: { name: "short", description: "lived" } });
  assert.deepEqual(await changesAfter(204, "DELETE", "/project/short"), [
    { member: "name", from: "short", to: null },
    { member: "description", from: "lived", to: null },
  ]);
});

test("an import says what it changed, a trial of one nothing", async () => {
  await service.want(201, "POST", "/webhook", { body: { name: "carried", flow: "echo" } });
  const text =
    "format: flowhook/export/v2\nwebhooks:\n" +
    "  - { name: carried, flow: echo, role: webhook, async_status: 202, response_headers: { x-key: k } }\n";
  const path = "/import?conflicts=replace";
  assert.deepEqual(await changesAfter(200, "POST", `${path}&dry_run=true`, { text }), []);
  assert.deepEqual(await changesAfter(200, "POST", path, { text }), [
    { member: "carried.async_status", from: 201, to: 202 },
  ]);
});

test("a long value is cut, and whole characters stay", async () => {
  const body = { description: `${"x".repeat(1999)}🙂${"y".repeat(50)}` };
  const changes = await changesAfter(200, "PATCH", "/webhook/audited", { body });
  const [change] = changes as [{ from: string; to: string }];
  assert.equal(change.from, "words");
  assert.equal(change.to, `${"x".repeat(1999)}…`);
  const allowed_addresses = Array.from({ length: 100 }, (_, n) => `2001:db8:0:${n + 1000}::/64`);
  const access = { password: ADMIN_PASSWORD, allowed_addresses };
  const lists = await changesAfter(200, "PUT", "/webhook/audited/authentication", { body: access });
  const [list] = lists as [{ from: unknown; to: string }];
  assert.deepEqual(list.from, ["10.0.0.0/8"]);
  assert.match(list.to, /^\["2001:db8.{1980,}…$/);
});

test("values that may be secret, or are somebody's own, are in no entry", async () => {
  const canary = "canary-of-a-changed-value";
  const own = { password: ADMIN_PASSWORD };
  await service.user("hidden", ["viewer"]);
  const bodies = [
    ["PATCH", "/webhook/audited", { response_headers: { "x-key": canary } }],
    ["PUT", "/webhook/audited/authentication", { ...own, key: canary, keep_previous_sec: 60 }],
    ["POST", "/setting", { name: "hidden", value: canary }],
    ["PATCH", "/setting/hidden", { value: `${canary}-2` }],
    ["DELETE", "/setting/hidden", undefined],
    ["POST", "/secret", { name: "HIDDEN", value: canary }],
    ["PATCH", "/secret/HIDDEN", { value: `${canary}-2` }],
    ["PATCH", "/user/hidden", { password: canary, own_password: ADMIN_PASSWORD }],
    [
      "PATCH",
      "/user/hidden",
      { email: `${canary}@example.com`, roles: [], own_password: ADMIN_PASSWORD },
    ],
  ] as const;
  for (const [method, path, body] of bodies) {
    const { status } = await service.ask(method, path, body === undefined ? {} : { body });
    assert.ok(status < 300, `${method} ${path}: ${status}`);
  }
  assert.deepEqual((await latest())["changes"], [{ member: "roles", from: ["viewer"], to: [] }]);
  const { text } = await service.want(200, "GET", "/audit?limit=500");
  assert.ok(!text.includes(canary));
});

test("for each member that is given or answered it was decided whether its values are kept", () => {
  const namesOf = (schema: unknown) =>
    Object.keys((schema as { entries?: object } | null)?.entries ?? {});
  const changing = ROUTES.filter(({ action }) => action !== null && resourceOf(action) in AUDITED);
  assert.ok(changing.length >= 18, String(changing.length));
  for (const { action, body, answer } of changing) {
    if (action === "webhook.import") continue;
    const decided = Object.keys(AUDITED[resourceOf(action ?? "") as keyof typeof AUDITED]);
    const unknown = [...namesOf(body), ...namesOf(answer)].filter(
      (name) => !decided.includes(name),
    );
    assert.deepEqual(unknown, [], action ?? "");
  }
  assert.deepEqual(Object.keys(AUDITED.carried).toSorted(), carriedMembers().toSorted());
});

function resourceOf(action: string): string {
  return action.split(".")[0] ?? "";
}

function carriedMembers(): string[] {
  const [{ entries }] = WEBHOOK_DOCUMENT.options;
  return Object.keys(entries.webhooks.item.entries);
}

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
      node: null,
      action: "auth.login",
      target: "admin",
      result,
      members: ["user_name", "password"],
      changes: [],
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

test("of a request without a login only the names that the route has are kept", async () => {
  const others = Array.from({ length: 26 }, (_, n) => [String.fromCharCode(97 + n).repeat(40), 1]);
  const body = { user_name: "admin", ...Object.fromEntries(others), password: "wrong" };
  await service.want(422, "POST", "/auth/login", { token: null, body });
  const { members, result } = await latest("&action=auth.login");
  assert.deepEqual([members, result], [["user_name", "password"], "invalid"]);
});

test("an entry names what it acted on as that is kept, and whose it was", async () => {
  await service.want(201, "POST", "/project", { body: { name: "  Büro ".normalize("NFD") } });
  assert.equal((await latest())["target"], "Büro");
  await service.user("ended", ["viewer"]);
  const { json } = await service.want(200, "GET", "/token?all=true&limit=500");
  const token = itemsOf(json).find((item) => item["user_name"] === "ended");
  await service.want(204, "DELETE", `/token/${String(token?.["id"])}`);
  assert.equal((await latest("&action=token.delete"))["target"], "ended");
  const filter = { flow: "nothing" };
  await service.want(200, "POST", "/execution/cancel", { body: { filter } });
  assert.deepEqual((await latest())["changes"], [
    { member: "filter", from: null, to: filter },
    { member: "matched", from: null, to: 0 },
    { member: "cancelled", from: null, to: 0 },
  ]);
});

test("an entry of a large import says how many changes it leaves out", async () => {
  const documentOf = (words: string): string => {
    const webhooks = Array.from({ length: 120 }, (_, n) => ({
      name: `many-${n}`,
      flow: "echo",
      description: words,
    }));
    return JSON.stringify({ format: "flowhook/export/v2", webhooks });
  };
  await service.want(200, "POST", "/import", { text: documentOf("before") });
  const changes = await changesAfter(200, "POST", "/import?conflicts=replace", {
    text: documentOf("after"),
  });
  const all = changes as { member: string }[];
  assert.equal(all.length, 101);
  assert.match(all.at(-1)?.member ?? "", /^… and \d+ more$/);
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
  for (const [member, value] of [
    ["user_name", "viewer"],
    ["action", "auth.login"],
    ["target", "audited"],
  ] as const) {
    const entries = await by(`${member}=${value}`);
    assert.deepEqual([...new Set(entries.map((entry) => entry[member]))], [value]);
  }
  assert.deepEqual(await by("action=nothing"), []);
});
