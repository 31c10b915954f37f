import assert from "node:assert/strict";
import type { Problem } from "../../src/shared/contract/problem.ts";
import { after, before, test } from "node:test";
import { itemsOf, memberOf, openTestService, type TestService } from "./test-service.ts";
import { callWebhook, enable, openWebhook } from "./running.ts";

let service: TestService;

before(async () => {
  service = await openTestService({ flows: ["echo", "identity"] });
  await service.want(201, "POST", "/project", { body: { name: "Shop" } });
  const { json } = await service.want(200, "GET", "/project/Shop");
  const project_id = memberOf(json, "id");
  const more = {
    description: "Takes orders: all of them",
    is_productive: false,
    sync_mode: "hold",
  };
  await openWebhook(service, "orders", { flow: "echo", project_id, ...more });
  await enable(service, "orders", { require_login: true, key: { generate: true } });
  await openWebhook(service, "plain", { flow: "echo", role: null, execution_location: "flow" });
});

after(() => service[Symbol.asyncDispose]());

const take = (query: string, text: string, at = service) =>
  at.want(200, "POST", `/import${query}`, {
    text,
    headers: { "content-type": "application/yaml" },
  });

async function exported(query = ""): Promise<string> {
  return (await service.want(200, "GET", `/export${query}`)).text;
}

async function webhook(name: string, at = service): Promise<{ [name: string]: unknown }> {
  const { json } = await at.want(200, "GET", `/webhook/${encodeURIComponent(name)}`);
  return json as { [name: string]: unknown };
}

test("what is carried is carried, and nothing of the authentication", async () => {
  const text = await exported("?webhook=orders");
  const lines = text.split("\n").map((line) => line.replace(/^[\s-]+/, ""));
  for (const line of [
    "format: flowhook/export/v2",
    "name: orders",
    "sync_mode: hold",
    "description: 'Takes orders: all of them'",
    "flow: echo",
    "role: webhook",
    "project: Shop",
    "execution_location: webhook",
    "is_productive: false",
  ])
    assert.ok(lines.includes(line), `${line}\n${text}`);
  assert.doesNotMatch(text, /is_enabled|require_login|key|plain|default_mode/);
  assert.match(await exported(), /orders[^]*plain/);
  assert.match(await exported("?webhook=plain&webhook=orders"), /plain[^]*orders/);
  await service.want(404, "GET", "/export?webhook=nothing");
  await service.want(422, "GET", "/export?flow=echo");
});

test("exported, deleted and imported it is back: disabled, with a new key; here and elsewhere", async () => {
  const before = await webhook("orders");
  const text = await exported("?webhook=orders");
  await service.want(204, "DELETE", "/webhook/orders");
  await using other = await openTestService();
  await other.want(201, "POST", "/project", { body: { name: "Shop" } });
  for (const at of [service, other]) {
    const { json } = await take("", text, at);
    const [item] = itemsOf(json);
    assert.equal(item?.["action"], "create");
    const key = String(item?.["key"]);
    assert.match(key, /^fhk_/);
    const found = await webhook("orders", at);
    for (const member of ["description", "flow", "role", "execution_location", "is_productive"])
      assert.deepEqual(found[member], before[member], member);
    assert.deepEqual(
      [found["is_enabled"], found["require_login"], found["is_key_required"]],
      [false, false, true],
    );
    const bearer = { authorization: `Bearer ${key}` };
    assert.equal((await callWebhook(at, "orders", {}, bearer)).status, 404);
    await enable(at, "orders", {});
    assert.equal((await callWebhook(at, "orders", {}, bearer)).status, 201);
  }
});

test("a dry run tells the difference and changes nothing", async () => {
  const before = await webhook("plain");
  const text = (await exported("?webhook=plain"))
    .replace("flow: echo", "flow: identity")
    .concat("  - { name: fresh, flow: echo }\n");
  const { json } = await take("?dry_run=true&conflicts=replace", text);
  assert.deepEqual(json, {
    dry_run: true,
    items: [
      { name: "plain", action: "replace", changes: { flow: { from: "echo", to: "identity" } } },
      { name: "fresh", action: "create", changes: {} },
    ],
  });
  assert.deepEqual(await webhook("plain"), before);
  await service.want(404, "GET", "/webhook/fresh");
});

test("conflicts are skipped, replaced or renamed", async () => {
  const text = (await exported("?webhook=plain")).replace("flow: echo", "flow: identity");
  const before = await webhook("plain");
  const skipped = await take("", text);
  assert.equal(itemsOf(skipped.json)[0]?.["action"], "skip");
  assert.deepEqual(await webhook("plain"), before);
  const renamed = await take("?conflicts=rename", text);
  assert.equal(itemsOf(renamed.json)[0]?.["name"], "plain-2");
  assert.deepEqual(
    [(await webhook("plain-2"))["flow"], (await webhook("plain-2"))["is_enabled"]],
    ["identity", false],
  );
  const again = await take("?conflicts=rename", text);
  assert.equal(itemsOf(again.json)[0]?.["name"], "plain-3");
  const replaced = await take("?conflicts=replace", text);
  assert.equal(itemsOf(replaced.json)[0]?.["key"], undefined);
  const found = await webhook("plain");
  assert.deepEqual([found["flow"], found["is_enabled"]], ["identity", true]);
  assert.equal((await callWebhook(service, "plain", {})).status, 201);
  const long = `{ name: ${"n".repeat(128)}, flow: echo }`;
  const document = `format: flowhook/export/v1\nwebhooks:\n  - ${long}\n`;
  await take("", document);
  const cut = await take("?conflicts=rename", document);
  assert.ok(String(itemsOf(cut.json)[0]?.["name"]).length <= 128);
});

test("what is renamed takes the name of no other in the document", async () => {
  const documentOf = (...names: string[]) =>
    `format: flowhook/export/v1\nwebhooks:\n` +
    names.map((name) => `  - { name: ${name}, flow: echo }\n`).join("");
  await take("", documentOf("one"));
  const { json } = await take("?conflicts=rename", documentOf("one", "one-2"));
  assert.deepEqual(
    itemsOf(json).map(({ name }) => name),
    ["one-3", "one-2"],
  );
});

test("a webhook that is named twice is exported once", async () => {
  assert.equal(await exported("?webhook=orders&webhook=orders"), await exported("?webhook=orders"));
});

test("of imports at once that make the same, those that are late say what to do", async () => {
  const text = "format: flowhook/export/v1\nwebhooks:\n  - { name: raced, flow: echo }\n";
  const late = [];
  for (let round = 0; late.length === 0 && round < 20; round += 1) {
    const race = text.replace("raced", `raced-${round}`);
    const all = await Promise.all(
      Array.from({ length: 8 }, () => service.ask("POST", "/import", { text: race })),
    );
    late.push(...all.filter(({ status }) => status !== 200));
  }
  assert.ok(late.length > 0, "none was late");
  for (const { status, text: said } of late) {
    assert.equal(status, 409, said);
    assert.match(said, /Import the document again/);
  }
});

test("an import that fails anywhere changes nothing", async () => {
  const good = "  - { name: never, flow: echo }\n";
  const head = "format: flowhook/export/v1\nwebhooks:\n";
  for (const [status, text, words] of [
    [422, `${head}${good}  - { name: bad, flow: nothing }\n`, "webhooks.1.flow"],
    [422, `${head}${good}  - { name: bad, flow: echo, role: nothing }\n`, "role"],
    [422, `${head}${good}  - { name: bad, flow: echo, project: nothing }\n`, "webhooks.1.project"],
    [422, `${head}${good}  - { name: bad/name, flow: echo }\n`, "webhooks.1.name"],
    [422, `${head}${good}${good}`, "twice"],
    [422, `${head}${good}  - { name: bad, flow: echo, is_enabled: true }\n`, "is_enabled"],
    [422, `${head}${good}  - { name: bad, flow: echo, key: a }\n`, "key"],
    [422, "format: flowhook/export/v9\nwebhooks: []\n", "format"],
    [422, "[]", "expected an object, found a list"],
    [400, "a: [", "YAML"],
    [400, `a: &a [1]\nb: [${"*a,".repeat(50)}]\n`, "alias"],
    [400, "a: !!js/function 1\n", "tag"],
  ] as const) {
    const reply = await service.want(status, "POST", "/import", { text });
    assert.ok(reply.text.includes(words), `${words}: ${reply.text}`);
  }
  await service.want(404, "GET", "/webhook/never");
  await service.want(422, "POST", "/import?conflicts=merge", { text: head });
});

test("all that is wrong with a document is said at once, with the names of the webhooks", async () => {
  const text = `format: flowhook/export/v2
webhooks:
  - { name: fits, flow: echo }
  - { name: lost, flow: nothing, role: nobody, project: nowhere }
  - { name: signed, flow: echo, signature: { scheme: github, secrets: [NOT_HERE] } }
  - { name: large, flow: echo, max_body_bytes: 999999999999 }
`;
  const errorsOf = async (wrong: string) => {
    const reply = await service.want(422, "POST", "/import", { text: wrong });
    return (JSON.parse(reply.text) as Problem).errors ?? [];
  };
  assert.deepEqual(
    (await errorsOf(text)).map(({ field, message }) => [
      field,
      /^webhook "(.+?)": /.exec(message)?.[1],
    ]),
    [
      ["webhooks.1.flow", "lost"],
      ["webhooks.1.role", "lost"],
      ["webhooks.1.project", "lost"],
      ["webhooks.2.signature.secrets.0", "signed"],
      ["webhooks.3.max_body_bytes", "large"],
    ],
  );
  const many = Array.from({ length: 150 }, (_, at) => `  - { name: lost-${at}, flow: nothing }\n`);
  const head = "format: flowhook/export/v2\nwebhooks:\n";
  assert.equal((await errorsOf(head + many.join(""))).length, 100);
  await service.want(404, "GET", "/webhook/fits");
});

test("who may read the answers, and their headers, are carried; a first document leaves them", async () => {
  const cors = {
    origins: ["https://shop.example"],
    credentials: true,
    headers: [],
    max_age_sec: 5,
  };
  const response_headers = { "X-Robots-Tag": "noindex" };
  const body = { name: "pages", flow: "echo", cors, response_headers };
  await service.want(201, "POST", "/webhook", { body });
  const text = await exported("?webhook=pages");
  assert.match(text, /cors:\n[^]*shop\.example[^]*response_headers:\n {6}X-Robots-Tag: noindex/);
  assert.doesNotMatch(await exported("?webhook=plain"), /cors|response_headers/);
  const first = "format: flowhook/export/v1\nwebhooks:\n  - { name: pages, flow: echo }\n";
  await take("?conflicts=replace", first);
  assert.deepEqual((await webhook("pages"))["cors"], cors);
  await service.want(204, "DELETE", "/webhook/pages");
  await take("", text);
  const back = await webhook("pages");
  assert.deepEqual([back["cors"], back["response_headers"]], [cors, response_headers]);
  const without = "format: flowhook/export/v2\nwebhooks:\n  - { name: pages, flow: echo }\n";
  await take("?conflicts=replace", without);
  const reset = await webhook("pages");
  assert.deepEqual([reset["cors"], reset["response_headers"]], [null, {}]);
  for (const [members, words] of [
    ['cors: { origins: ["*"], credentials: true }', "webhooks.0.cors.credentials"],
    ["response_headers: { connection: close }", "webhooks.0.response_headers.connection"],
    ["max_body_bytes: 999999999999", "webhooks.0.max_body_bytes"],
  ] as const)
    for (const name of ["pages", "never"]) {
      const wrong = without.replace("name: pages", `name: ${name}, ${members}`);
      const reply = await service.want(422, "POST", "/import?conflicts=replace", { text: wrong });
      assert.ok(reply.text.includes(words), `${name}: ${reply.text}`);
    }
});

test("what counts the calls of each user is imported, and wants a login", async () => {
  await service.want(201, "POST", "/webhook", { body: { name: "counted", flow: "echo" } });
  await enable(service, "counted", { require_login: true });
  const limits = { rate: { calls: 5, per_sec: 60, by: "user" } };
  await service.want(200, "PATCH", "/webhook/counted", { body: { limits } });
  const text = await exported("?webhook=counted");
  await service.want(204, "DELETE", "/webhook/counted");
  await take("", text);
  const found = await webhook("counted");
  assert.deepEqual([found["is_enabled"], found["require_login"]], [false, true]);
});

test("an export of more than other bodies may be is imported", async () => {
  const webhooks = Array.from({ length: 300 }, (_, n) =>
    ["- name: large-", n, "\n  flow: echo\n  description: ", "d".repeat(9000), "\n"].join(""),
  );
  await take("", `format: flowhook/export/v2\nwebhooks:\n${webhooks.join("")}`);
  const text = await exported();
  assert.ok(text.length > 2 * 1024 * 1024);
  const { json } = await take("?dry_run=true", text);
  assert.ok(itemsOf(json).length >= webhooks.length);
  assert.ok(itemsOf(json).every(({ action }) => action === "skip"));
});

test("to an importer a project that cannot be seen is none", async () => {
  const mine = await service.want(201, "POST", "/project", { body: { name: "Mine" } });
  await service.want(201, "POST", "/project", { body: { name: "Theirs" } });
  const permissions = [{ permission: "webhook.*", project_id: memberOf(mine.json, "id") }];
  await service.want(201, "POST", "/role", { body: { name: "narrow", permissions } });
  const token = await service.user("narrow", ["narrow"]);
  const take = async (status: number, project: string) => {
    const text = `format: flowhook/export/v1\nwebhooks: [{ name: n, flow: echo, project: ${project} }]`;
    return (await service.want(status, "POST", "/import?dry_run=true", { token, text })).json;
  };
  await take(200, "Mine");
  for (const project of ["Theirs", "Nobodys"])
    assert.equal(
      memberOf(await take(422, project), "detail"),
      `webhooks.0.project: webhook "n": there is no project "${project}" here`,
    );
});

test("an import leaves alone what its importer may not see", async () => {
  const { json } = await service.want(200, "GET", "/project/Shop");
  const project_id = memberOf(json, "id");
  const body = { name: "hidden", flow: "echo", project_id };
  await service.want(201, "POST", "/webhook", { body });
  const own = await service.want(201, "POST", "/project", { body: { name: "Own" } });
  const permissions = [
    { permission: "webhook.write" },
    { permission: "webhook.*", project_id: memberOf(own.json, "id") },
  ];
  await service.want(201, "POST", "/role", { body: { name: "carrier", permissions } });
  const token = await service.user("carrier", ["carrier"]);
  const text = "format: flowhook/export/v1\nwebhooks: [{ name: hidden, flow: echo, project: Own }]";
  const replace = "/import?conflicts=replace";
  const refused = await service.want(409, "POST", `${replace}&dry_run=true`, { token, text });
  assert.doesNotMatch(refused.text, /Shop|from/);
  await service.want(409, "POST", replace, { token, text });
  assert.equal((await webhook("hidden"))["project_id"], project_id);
});
