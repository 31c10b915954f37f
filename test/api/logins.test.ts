import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openGate } from "./gate.ts";
import { openWebhook } from "./running.ts";
import {
  ADMIN_PASSWORD,
  itemsOf,
  memberOf,
  openTestService,
  PASSWORD,
  type TestService,
} from "./test-service.ts";

let service: TestService;

before(async () => {
  service = await openTestService({
    plugins: [fileURLToPath(new URL("flows/paced.ts", import.meta.url))],
  });
});

after(() => service[Symbol.asyncDispose]());

function login(user_name: string, password: string, headers: Record<string, string> = {}) {
  return service.ask("POST", "/auth/login", {
    token: null,
    body: { user_name, password },
    headers,
  });
}

test("a login gives a token and a cookie that no page can read", async () => {
  const reply = await login("admin", ADMIN_PASSWORD);
  assert.equal(reply.status, 200);
  const token = memberOf(reply.json, "token");
  assert.match(token, /^fht_[\w-]{43}$/);
  const cookie = reply.headers.get("set-cookie")!;
  assert.match(
    cookie,
    new RegExp(`^service-token=${token}; Path=/; Max-Age=\\d+; HttpOnly; SameSite=Lax$`),
  );
  const headers = { cookie: `other=1; service-token=${token}` };
  const me = await service.want(200, "GET", "/auth/me", { token: null, headers });
  assert.equal(memberOf(me.json, "name"), "admin");
  assert.equal(memberOf(me.json, "permissions"), '[{"permission":"*","project_id":null}]');
});

test("a wrong name or password, or a disabled user: the same 401", async () => {
  await service.want(201, "POST", "/user", {
    body: { name: "disabled", password: PASSWORD, is_enabled: false },
  });
  const replies = [
    await login("nobody", PASSWORD),
    await login("admin", "wrong"),
    await login("disabled", PASSWORD),
  ];
  for (const reply of replies) {
    assert.equal(reply.status, 401);
    assert.equal(reply.text, replies[0]!.text);
    assert.equal(reply.headers.get("www-authenticate"), "Bearer");
    assert.equal(reply.headers.get("set-cookie"), null);
  }
});

test("repeated failures are slowed and then refused, and lock nobody else out", async () => {
  await service.user("victim", []);
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 11; attempt += 1)
    statuses.push((await login("victim", `guess ${attempt}`)).status);
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429]);
  assert.equal((await login("victim", PASSWORD)).status, 429, "the right password too");
  assert.equal((await login("admin", ADMIN_PASSWORD)).status, 200);
});

test("a name is found in whatever form it is typed", async () => {
  await service.user("Zoë", []);
  assert.equal((await login("Zoë".normalize("NFD"), PASSWORD)).status, 200);
});

test("a changed password ends the other tokens of the user, and only those", async () => {
  const first = await service.user("changing", []);
  const second = await service.login("changing", PASSWORD);
  const next = "a new horse battery staple 9";
  const change = (body: object) => service.ask("PUT", "/auth/password", { token: first, body });
  assert.equal((await change({ password: "wrong", new_password: next })).status, 403);
  assert.equal((await change({ new_password: next })).status, 403);
  assert.equal((await change({ password: PASSWORD, new_password: "short" })).status, 422);
  assert.equal((await change({ password: PASSWORD, new_password: next })).status, 204);
  await service.want(200, "GET", "/auth/me", { token: first });
  await service.want(401, "GET", "/auth/me", { token: second });
  assert.equal((await login("changing", PASSWORD)).status, 401);
  assert.equal((await login("changing", next)).status, 200);
  await service.want(200, "GET", "/auth/me");
});

test("a password that an administrator sets ends all tokens; so does disabling, and deleting", async () => {
  for (const body of [{ password: "a new horse battery staple 9" }, { is_enabled: false }]) {
    const token = await service.user("ended", []);
    await service.want(200, "PATCH", "/user/ended", { body });
    await service.want(401, "GET", "/auth/me", { token });
    await service.want(204, "DELETE", "/user/ended");
  }
  const token = await service.user("ended", []);
  await service.want(204, "DELETE", "/user/ended");
  await service.want(401, "GET", "/auth/me", { token });
});

test("a role that is taken away is taken away at once", async () => {
  const token = await service.user("demoted", ["viewer"]);
  await service.want(200, "GET", "/webhook", { token });
  await service.want(200, "PATCH", "/user/demoted", { body: { roles: [] } });
  await service.want(403, "GET", "/webhook", { token });
});

test("a role that is taken away meanwhile counts when a long poll answers", async () => {
  await using gate = await openGate();
  await openWebhook(service, "paced", { flow: "paced" });
  const url = `${service.url}/api/latest/webhook/paced/call?async&gate=${gate.url}`;
  const id = await (await fetch(url, { method: "POST" })).text();
  await gate.arrived;
  const token = await service.user("waiting", ["viewer"]);
  const waiting = ["wait", "wait-operation"].map((name) =>
    service.ask("GET", `/execution/${id}/${name}`, { token }),
  );
  await service.want(200, "PATCH", "/user/waiting", { body: { roles: [] } });
  gate.open();
  for (const { status, text } of await Promise.all(waiting))
    assert.ok(status === 404 || status === 403, text);
});

/** Sends the end of a body only once something has happened. */
async function askSlowly(
  path: string,
  { token, text }: { token: string; text: string },
  meanwhile: () => Promise<unknown>,
): Promise<number | undefined> {
  const headers = { "x-service-token": token, "content-type": "application/json" };
  const sent = httpRequest(`${service.url}/api/latest${path}`, {
    method: "POST",
    headers: { ...headers, "content-length": text.length, expect: "100-continue" },
  });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  sent.write(text.slice(0, 1));
  await once(sent, "continue");
  await meanwhile();
  sent.end(text.slice(1));
  const [answer] = await answered;
  answer.resume();
  return answer.statusCode;
}

test("a role or a login that ends while a body comes counts", async () => {
  const body = JSON.stringify({ name: "late", flow: "echo" });
  const yaml = "format: flowhook/export/v1\nwebhooks: [{ name: late, flow: echo }]";
  for (const [path, text] of [
    ["/webhook", body],
    ["/import", yaml],
  ] as const) {
    const token = await service.user("slow", ["developer"]);
    const demote = () => service.want(200, "PATCH", "/user/slow", { body: { roles: [] } });
    assert.equal(await askSlowly(path, { token, text }, demote), 403);
    const leave = () => service.want(204, "DELETE", "/user/slow");
    await service.want(200, "PATCH", "/user/slow", { body: { roles: ["developer"] } });
    assert.equal(await askSlowly(path, { token, text }, leave), 401);
  }
});

test("the own tokens are listed and ended; everybody's by who may change users", async () => {
  const one = await service.user("holder", []);
  const two = await service.login("holder", PASSWORD);
  const { json } = await service.want(200, "GET", "/token", { token: one });
  const items = itemsOf(json);
  assert.deepEqual(
    items.map((item) => `${String(item["user_name"])} ${String(item["is_current"])}`).sort(),
    ["holder false", "holder true"],
  );
  assert.ok(items.every((item) => item["last_used_from"] === "127.0.0.1"));
  const other = items.find((item) => item["is_current"] === false)!;
  const stranger = await service.user("stranger", []);
  await service.want(404, "DELETE", `/token/${String(other["id"])}`, { token: stranger });
  await service.want(204, "DELETE", `/token/${String(other["id"])}`, { token: one });
  await service.want(401, "GET", "/auth/me", { token: two });
  await service.want(403, "GET", "/token?all=true", { token: stranger });
  const all = itemsOf((await service.want(200, "GET", "/token?all=true")).json);
  const last = all.find((item) => item["user_name"] === "holder")!;
  await service.want(204, "DELETE", `/token/${String(last["id"])}`);
  await service.want(401, "GET", "/auth/me", { token: one });
});

test("login tokens come in pages, newest first, without gaps", async () => {
  const token = await service.user("often", []);
  for (let n = 0; n < 4; n += 1) await service.login("often", PASSWORD);
  const ids = async (query: string) => {
    const { json } = await service.want(200, "GET", `/token${query}`, { token });
    const next = memberOf(json, "next_cursor");
    return { ids: itemsOf(json).map(({ id }) => String(id)), next: next === "null" ? null : next };
  };
  const all = await ids("");
  assert.equal(all.ids.length, 5);
  for (const [order, expected] of [
    ["desc", all.ids],
    ["asc", all.ids.toReversed()],
  ] as const) {
    const found: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page = await ids(`?limit=2&order=${order}${cursor && `&cursor=${cursor}`}`);
      found.push(...page.ids);
      cursor = page.next;
    }
    assert.deepEqual(found, expected);
  }
  const cursor = Buffer.from("x y").toString("base64url");
  await service.want(422, "GET", `/token?cursor=${cursor}`, { token });
});

test("a logout ends the token and takes the cookie back", async () => {
  const token = await service.user("leaving", []);
  const reply = await service.want(204, "POST", "/auth/logout", { token });
  assert.match(reply.headers.get("set-cookie")!, /^service-token=; Path=\/; Max-Age=0; HttpOnly/);
  await service.want(401, "GET", "/auth/me", { token });
});

test("a write that relies on the cookie is refused from another site", async () => {
  const cookie = `service-token=${await service.login()}`;
  const { host } = new URL(service.url);
  const post = async (headers: Record<string, string>) =>
    (
      await service.ask("POST", "/workspace/activity", {
        token: null,
        headers: { cookie, ...headers },
      })
    ).status;
  for (const site of ["cross-site", "same-site"])
    assert.equal(await post({ "sec-fetch-site": site }), 403);
  assert.equal(await post({ origin: "https://example.org" }), 403);
  assert.equal(await post({ origin: "null" }), 403);
  assert.equal(await post({ origin: `http://${host}` }), 204);
  assert.equal(await post({ "sec-fetch-site": "same-origin" }), 204);
  assert.equal(await post({}), 204);
  const token = { "x-service-token": await service.login(), origin: "https://example.org" };
  assert.equal(await post(token), 204, "a token in a header is no cookie");
  const sent = { "sec-fetch-site": "cross-site" };
  assert.equal((await login("admin", ADMIN_PASSWORD, sent)).code, "cross_site");
});

test("the cookie is Secure where the request came over TLS", async () => {
  await using behind = await openTestService({ config: { TRUSTED_PROXIES: ["127.0.0.1"] } });
  const body = { user_name: "admin", password: ADMIN_PASSWORD };
  const headers = { "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.7" };
  const reply = await behind.want(200, "POST", "/auth/login", { token: null, body, headers });
  assert.match(reply.headers.get("set-cookie")!, /; Secure$/);
  const { json } = await behind.want(200, "GET", "/token", {
    token: memberOf(reply.json, "token"),
  });
  const current = itemsOf(json).find((item) => item["is_current"] === true);
  assert.equal(current?.["last_used_from"], "203.0.113.7");
  const audit = itemsOf((await behind.want(200, "GET", "/audit?limit=1")).json)[0]!;
  assert.deepEqual([audit["action"], audit["address"]], ["auth.login", "203.0.113.7"]);
});
