import assert from "node:assert/strict";
import { after, before, test } from "node:test";
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
  service = await openTestService();
});

after(() => service[Symbol.asyncDispose]());

/** Each named type, with a body that makes one and one that changes it. */
const TYPES: Readonly<Record<string, { make: object; change: object }>> = {
  webhook: { make: { flow: "echo" }, change: { description: "changed" } },
  project: { make: {}, change: { description: "changed" } },
  role: { make: { permissions: [] }, change: { propagate: true } },
  user: { make: { password: PASSWORD }, change: { email: "a@example.org" } },
  setting: { make: { value: 1 }, change: { value: 2 } },
  secret: { make: { value: "a value" }, change: { value: "another value" } },
};

for (const [type, { make, change }] of Object.entries(TYPES)) {
  test(`${type}: If-Match with an older ETag is 412, and changes nothing`, async () => {
    const made = await service.want(201, "POST", `/${type}`, { body: { name: "tagged", ...make } });
    const old = made.headers.get("etag")!;
    assert.match(old, /^"\d+"$/);
    const path = `/${type}/tagged`;
    const patched = await service.want(200, "PATCH", path, {
      body: change,
      headers: { "if-match": `"1", ${old}` },
    });
    const tag = patched.headers.get("etag")!;
    assert.notEqual(tag, old);
    assert.equal((await service.want(200, "GET", path)).headers.get("etag"), tag);
    const weak = { "if-match": `"1", W/${tag}` };
    const { headers: answered } = await service.want(200, "PATCH", path, {
      body: change,
      headers: weak,
    });
    const latest = answered.get("etag")!;
    await service.want(412, "PATCH", path, { body: change, headers: { "if-match": 'W/"1"' } });
    const headers = { "if-match": old };
    const refused = await service.want(412, "PATCH", path, { body: change, headers });
    assert.equal(refused.code, "changed_meanwhile");
    await service.want(412, "DELETE", path, { headers });
    assert.equal((await service.want(200, "GET", path)).headers.get("etag"), latest);
    await service.want(200, "PATCH", path, { body: change, headers: { "if-match": "*" } });
    await service.want(204, "DELETE", path);
    await service.want(404, "GET", path);
    await service.want(404, "DELETE", path);
    await service.want(404, "PATCH", path, { body: change });
  });

  test(`${type}: of several who change it at once, one succeeds and the others are told`, async () => {
    const made = await service.want(201, "POST", `/${type}`, { body: { name: "raced", ...make } });
    const headers = { "if-match": made.headers.get("etag")! };
    const patches = Array.from({ length: 8 }, () =>
      service.ask("PATCH", `/${type}/raced`, { body: change, headers }),
    );
    const statuses = (await Promise.all(patches)).map(({ status }) => status);
    assert.deepEqual(
      statuses.toSorted((a, b) => a - b),
      [200, ...Array<number>(7).fill(412)],
    );
  });

  test(`${type}: what is missing is 404, however many ask`, async () => {
    const asked = Array.from({ length: 100 }, (_, n) => service.ask("GET", `/${type}/nosuch${n}`));
    const statuses = new Set((await Promise.all(asked)).map(({ status }) => status));
    assert.deepEqual([...statuses], [404]);
  });

  test(`${type}: names are trimmed, made NFC, and refused`, async () => {
    const post = (name: unknown) => service.ask("POST", `/${type}`, { body: { name, ...make } });
    const trimmed = await post("  Büro\u00a0 ".normalize("NFD"));
    assert.equal(memberOf(trimmed.json, "name"), "Büro".normalize("NFC"));
    const path = `/${type}/${encodeURIComponent("Büro".normalize("NFD"))}`;
    await service.want(200, "GET", path);
    const again = await post("Büro");
    assert.equal(again.status, 409);
    assert.equal(again.code, "conflict");
    assert.equal((await post("büro")).status, 201, "names are case-sensitive");
    assert.equal((await post("n".repeat(128))).status, 201);
    assert.equal((await post("🪝".repeat(128))).status, 201, "characters, not code units");
    const bad = ["", "   ", "n".repeat(129), ".", "..", "a/b", "a\\b", "a?b", "a#b", "a%b", "a\nb"];
    for (const name of [...bad, "a\u0000b", "a\u0085b", "\ud800", 7, null, undefined, ["a"]]) {
      const reply = await post(name);
      assert.equal(reply.status, 422, JSON.stringify(name));
      assert.equal(reply.code, "invalid");
      assert.match(reply.text, /"field":"name"/);
    }
  });

  test(`${type}: lists are in order, in pages, and say no to what they do not know`, async () => {
    for (const name of ["list-c", "list-a", "list-d", "list-b"])
      await service.want(201, "POST", `/${type}`, { body: { name, ...make } });
    for (const order of ["asc", "desc"]) {
      const first = await service.want(200, "GET", `/${type}?limit=2&cursor=&order=${order}`);
      assert.equal(itemsOf(first.json).length, 2, "an empty cursor is none");
      const names = await namesOf(`/${type}?limit=2&order=${order}`);
      const all = await namesOf(`/${type}?limit=500&order=${order}`);
      assert.deepEqual(names, all);
      const sorted = all.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      assert.deepEqual(all, order === "asc" ? sorted : sorted.reverse());
      assert.equal(new Set(all).size, all.length);
    }
    const bad = ["limit=0", "limit=501", "limit=-1", "limit=1.5", "limit=x", "order=up", "x=1"];
    for (const query of [...bad, "cursor=%25", "cursor=not-of-this-service"])
      await service.want(422, "GET", `/${type}?${query}`);
  });
}

async function namesOf(path: string): Promise<string[]> {
  const names: string[] = [];
  for (let cursor = ""; ;) {
    const { json } = await service.want(200, "GET", `${path}${cursor && `&cursor=${cursor}`}`);
    const items = itemsOf(json);
    assert.ok(items.length > 0, "no page is empty");
    names.push(...items.map((item) => String(item["name"])));
    const next = memberOf(json, "next_cursor");
    if (next === "null") return names;
    cursor = next;
  }
}

test("what was changed or deleted meanwhile is not deleted as it was seen", async () => {
  const make = { body: { name: "brief", password: PASSWORD } };
  const { headers } = await service.want(201, "POST", "/user", make);
  const seen = { "if-match": headers.get("etag") ?? "" };
  const both = await Promise.all([
    service.ask("PATCH", "/user/brief", { body: { email: "a@example.org" } }),
    service.ask("DELETE", "/user/brief", { headers: seen }),
  ]);
  assert.equal(both.filter(({ status }) => status < 300).length, 1, "one of them comes first");
  await service.want(201, "POST", "/webhook", { body: { name: "brief", flow: "echo" } });
  const twice = await Promise.all([1, 2].map(() => service.ask("DELETE", "/webhook/brief")));
  for (const { status, text } of twice) assert.ok([204, 404, 412].includes(status), text);
});

test("webhooks are listed by flow and by whether they are enabled", async () => {
  const named = async (query: string) =>
    itemsOf((await service.want(200, "GET", `/webhook?${query}`)).json).length;
  assert.ok((await named("flow=echo&limit=500")) > 0);
  assert.equal(await named("flow=other"), 0);
  assert.equal(await named("is_enabled=true"), 0);
  assert.ok((await named("is_enabled=false")) > 0);
  await service.want(422, "GET", "/webhook?is_enabled=1");
});

test("cursors of lists by number or identifier are checked", async () => {
  const cursor = Buffer.from("abc").toString("base64url");
  for (const path of ["/audit", "/execution"])
    await service.want(422, "GET", `${path}?cursor=${cursor}`);
  const first = await service.want(200, "GET", "/audit?limit=1");
  const next = memberOf(first.json, "next_cursor");
  const second = await service.want(200, "GET", `/audit?limit=1&cursor=${next}`);
  assert.ok(Number(itemsOf(second.json)[0]!["id"]) < Number(itemsOf(first.json)[0]!["id"]));
});

test("no message names what its reader may not see", async () => {
  await service.want(201, "POST", "/secret", {
    body: { name: "HUB", value: "a secret of hub 0123456789" },
  });
  await service.want(201, "POST", "/webhook", { body: { name: "unseen-webhook", flow: "echo" } });
  const signature = { scheme: "github", secrets: ["HUB"] };
  const access = { password: ADMIN_PASSWORD, signature };
  await service.want(200, "PUT", "/webhook/unseen-webhook/authentication", { body: access });
  await service.want(201, "POST", "/role", { body: { name: "unseen-role", permissions: [] } });
  await service.user("unseen-user", []);
  const writes = ["webhook", "role", "user", "secret"].map((name) => `${name}.write`);
  const permissions = [...writes, "execution.start", "execution.read"];
  await service.want(201, "POST", "/role", { body: { name: "blind", permissions } });
  const token = await service.user("blind", ["blind"]);
  const webhook = { name: "w", flow: "echo", role: "unseen-rol" };
  for (const [status, method, path, body] of [
    [409, "DELETE", "/secret/HUB", undefined],
    [422, "PATCH", "/secret/HUB", { value: "" }],
    [422, "POST", "/webhook", webhook],
    [200, "GET", "/execution?role=unseen-rol", undefined],
    [200, "GET", "/execution?role=unseen-role", undefined],
    [200, "GET", "/execution?created_by=unseen-use", undefined],
    [200, "GET", "/execution?created_by=unseen-user", undefined],
    [404, "PATCH", "/role/unseen-rol", { propagate: true }],
    [404, "DELETE", "/user/unseen-use", {}],
    [404, "POST", "/flow/ech/execution", {}],
    [422, "POST", "/webhook", { name: "w", flow: "ech" }],
  ] as const) {
    const told = await service.want(status, method, path, { token, password: PASSWORD, body });
    if (status === 200) assert.deepEqual(itemsOf(told.json), [], path);
    assert.doesNotMatch(told.text, /"(unseen-(webhook|role|user)|echo)"/, `${method} ${path}`);
  }
});

test("what is still used is not deleted: 409", async () => {
  await service.want(201, "POST", "/role", { body: { name: "used", permissions: [] } });
  await service.want(201, "POST", "/project", { body: { name: "used" } });
  const { json } = await service.want(200, "GET", "/project/used");
  const body = {
    name: "user-of-both",
    flow: "echo",
    role: "used",
    project_id: memberOf(json, "id"),
  };
  await service.want(201, "POST", "/webhook", { body });
  for (const path of ["/role/used", "/project/used", "/project/Default"]) {
    assert.equal((await service.want(409, "DELETE", path)).code, "conflict", path);
  }
  const used = await service.want(409, "DELETE", "/role/used");
  assert.equal(memberOf(used.json, "detail"), '"used" is still used by webhooks: "user-of-both"');
  const blind = { roles: ["role-keeper"], permissions: ["role.*", "project.*"] };
  await service.want(201, "POST", "/role", {
    body: { name: "role-keeper", permissions: blind.permissions },
  });
  const token = await service.user("role-keeper", blind.roles);
  const unseen = await service.want(409, "DELETE", "/project/used", { token });
  assert.match(memberOf(unseen.json, "detail"), /that your roles do not show/);
  assert.doesNotMatch(unseen.text, /user-of-both/);
  const users = await service.want(409, "DELETE", "/role/role-keeper");
  assert.match(memberOf(users.json, "detail"), /users: "role-keeper"/);
  await service.want(409, "PATCH", "/project/Default", { body: { name: "Other" } });
  await service.want(204, "DELETE", "/webhook/user-of-both");
  await service.want(204, "DELETE", "/role/used");
  await service.want(204, "DELETE", "/project/used");
});

test("a webhook is in a project or in a bundle, and points to what is there", async () => {
  const { json } = await service.want(200, "GET", "/project/Default");
  const project_id = memberOf(json, "id");
  const post = (more: object) =>
    service.ask("POST", "/webhook", { body: { name: "placed", flow: "echo", ...more } });
  for (const [more, field] of [
    [{ project_id: "nothing" }, "project_id"],
    [{ bundle_id: "nothing" }, "bundle_id"],
    [{ project_id, bundle_id: "nothing" }, "bundle_id"],
    [{ flow: "nothing" }, "flow"],
    [{ role: "nothing" }, "role"],
    [{ sync_mode: "wait" }, "sync_mode"],
    [{ execution_location: "there" }, "execution_location"],
    [{ is_productive: 1 }, "is_productive"],
    [{ unknown: 1 }, "unknown"],
  ] as const) {
    const reply = await post(more);
    assert.equal(reply.status, 422, JSON.stringify(more));
    assert.match(reply.text, new RegExp(`"field":"${field}"`));
  }
});

test("a description is Unicode that can be stored as it is", async () => {
  const body = { name: "surrogate", description: "\ud800x" };
  const { json } = await service.want(422, "POST", "/project", { body });
  assert.match(memberOf(json, "detail"), /^description: expected well-formed Unicode/);
});

test("a list is no object, wherever one is expected", async () => {
  const message = "expected an object, found a list";
  await service.want(201, "POST", "/webhook", { body: { name: "unlisted", flow: "echo" } });
  for (const member of ["limits", "response_headers", "cors", "idempotency"])
    for (const list of [[], ["X-Frame-Options: DENY"]]) {
      const body = { [member]: list };
      const made = { name: "listed", flow: "echo", ...body };
      const webhooks = [made, { ...made, name: "unlisted" }];
      const text = JSON.stringify({ format: "flowhook/export/v2", webhooks });
      for (const [method, path, request, field] of [
        ["POST", "/webhook", { body: made }, member],
        ["PATCH", "/webhook/unlisted", { body }, member],
        ["POST", "/import?conflicts=replace", { text }, `webhooks.0.${member}`],
      ] as const) {
        const { json } = await service.want(422, method, path, request);
        assert.deepEqual((json as { errors: unknown[] }).errors[0], { field, message }, path);
      }
    }
  const rate = { body: { limits: { rate: [] } } };
  const { json } = await service.want(422, "PATCH", "/webhook/unlisted", rate);
  assert.deepEqual((json as { errors: unknown }).errors, [{ field: "limits.rate", message }]);
});

test("bodies: not JSON is 400, too large 413, another method 405, an unknown path 404", async () => {
  const json = { "content-type": "application/json" };
  const bad = await service.want(400, "POST", "/project", { text: "{", headers: json });
  assert.equal(bad.code, "bad_body");
  const large = JSON.stringify({ name: "x", description: "y".repeat(2 * 1024 * 1024) });
  await service.want(413, "POST", "/project", { text: large, headers: json });
  const list = await service.want(422, "POST", "/project", { text: "[]", headers: json });
  assert.equal(list.code, "invalid");
  const other = await service.ask("PUT", "/project");
  assert.equal(other.status, 405);
  assert.equal(other.headers.get("allow"), "GET, HEAD, POST");
  await service.want(404, "GET", "/nothing");
});

test("bytes that are not UTF-8 are refused, not changed", async () => {
  const post = (path: string, text: string) =>
    fetch(`${service.url}/api/latest${path}`, {
      method: "POST",
      headers: { "x-service-token": token, "content-type": "application/json" },
      body: Buffer.from(text, "latin1"),
    });
  const token = await service.login();
  const large = "x".repeat(100_000);
  for (const [path, text] of [
    ["/setting", '{"name":"latin-1","value":"Z\u00fcrich"}'],
    ["/setting", `{"name":"latin-1","value":"Z\u00fcrich${large}"}`],
    ["/import", "format: flowhook/webhooks/v2\nwebhooks: [] # Z\u00fcrich"],
  ] as const) {
    const answer = await post(path, text);
    assert.equal(answer.status, 400, path);
    const problem = (await answer.json()) as { detail: string };
    assert.equal(problem.detail, "The body is not valid UTF-8");
  }
  await service.want(404, "GET", "/setting/latin-1");
  const marked = await post("/setting", '\u00ef\u00bb\u00bf{"name":"marked","value":1}');
  assert.equal(marked.status, 201, "a byte order mark is none of it");
});

test("a role that is named twice is said, and nobody is made", async () => {
  const make = { name: "bob", password: PASSWORD, roles: ["operator", "operator"] };
  const { text } = await service.want(422, "POST", "/user", { body: make });
  assert.match(text, /roles: has a role twice/);
  await service.want(404, "GET", "/user/bob");
});

test("a permission is an object, or in short the string", async () => {
  const permissions = ["webhook.read", { permission: "flow.*" }];
  const { json } = await service.want(201, "POST", "/role", {
    body: { name: "short", permissions },
  });
  assert.deepEqual((json as { permissions: unknown }).permissions, [
    { permission: "webhook.read", project_id: null },
    { permission: "flow.*", project_id: null },
  ]);
  for (const [grant, expected] of [
    ["bundle.write", /unknown: did you mean "bundle\.read"\? Known: \*, webhook\.\*/],
    [{ permission: "workspace.write" }, /unknown: did you mean "workspace\.read"\? Known: \*/],
    [7, /expected \{"permission": "webhook\.read"\} or "webhook\.read"/],
  ] as const) {
    const body = { name: "wrong", permissions: [grant] };
    const { text } = await service.want(422, "POST", "/role", { body });
    assert.match(JSON.parse(text).errors[0].message, expected);
  }
});

test("everything that is wrong with a body is said at once, each field with what was expected", async () => {
  const body = { name: "", permissions: [{ permission: "nothing" }], propagate: "yes" };
  const { json } = await service.want(422, "POST", "/role", { body });
  const errors = JSON.parse(memberOf(json, "errors")) as { field: string; message: string }[];
  assert.deepEqual(errors.map(({ field }) => field).sort(), [
    "name",
    "permissions.0.permission",
    "propagate",
  ]);
  for (const { message } of errors) assert.match(message, /expected|Known: /);
});
