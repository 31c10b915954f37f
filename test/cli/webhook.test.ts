import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { openTarget } from "../blackbox/target.ts";
import { all, openSession, PASSWORD_LINE, type Session } from "./session.ts";

const FLOWS = { "echo.ts": "export default async (flow) => flow.input_value.json ?? 'hi';\n" };
const KEY = /fhk_[\w-]{43}/;

describe("webhook", { skip: openTarget().skip ?? false }, () => {
  let session: Session;
  before(async () => {
    session = await openSession(FLOWS);
  });
  after(() => session[Symbol.asyncDispose]());

  async function succeed(args: readonly string[], input = ""): Promise<string> {
    const finished = await session.run(["webhook", ...args], { input });
    assert.equal(finished.code, 0, all(finished));
    return finished.stdout;
  }

  /** One line on standard error, and nothing else. */
  async function refuse(args: readonly string[], code: number, input = ""): Promise<string> {
    const finished = await session.run(["webhook", ...args], { input });
    assert.equal(finished.code, code, all(finished));
    assert.equal(finished.stdout, "");
    assert.doesNotMatch(finished.stderr, /^\s+at /m);
    return finished.stderr;
  }

  test("list: says how to create the first one", async () => {
    assert.match(
      await succeed(["list"]),
      /^No webhooks yet\. .*webhook create NAME --flow FLOW\n$/,
    );
    assert.deepEqual(JSON.parse(await succeed(["list", "--json"])), []);
  });

  test("create: disabled, with a key that is shown once", async () => {
    const printed = await succeed(["create", "orders", "--flow", "echo"]);
    assert.match(printed, /^name +orders$/m);
    assert.match(printed, /^enabled +no$/m);
    assert.match(printed, /^role +webhook$/m);
    assert.match(printed, /^url +http:.*\/webhook\/orders\/call$/m);
    assert.match(printed, /^key +fhk_[\w-]{43} {2}\(shown this once\)$/m);
    assert.match(printed, /flowhook webhook enable orders/);
    assert.doesNotMatch(await succeed(["list", "--json"]), KEY);
  });

  test("what is advised can be run as it is printed, whatever the name", async () => {
    for (const name of ["-dash", "--help"]) {
      const printed = await succeed(["create", "--flow", "echo", "--", name]);
      const advised = /\nEnable it with: flowhook webhook (.+)\n$/.exec(printed)?.[1] ?? "";
      const [act = "", ...words] = advised.split(" ");
      const enabled = await succeed([act, "--password-stdin", ...words], PASSWORD_LINE);
      assert.match(enabled, new RegExp(`^name +${name}$`, "m"));
      assert.match(enabled, /^enabled +yes$/m);
      await succeed(["delete", "--", name]);
    }
  });

  test("create: with everything", async () => {
    const fields = ["--description", "All of it", "--no-role", "--project", "Default"];
    const modes = ["--development", "--sync-mode", "hold", "--execution-location", "flow"];
    const args = ["create", "full", "--flow", "echo", ...fields, ...modes, "--json"];
    const made = JSON.parse(await succeed(args)) as Record<string, unknown>;
    assert.equal(made["description"], "All of it");
    assert.equal(made["role"], null);
    assert.match(String(made["project_id"]), /^[0-9a-f-]{36}$/);
    assert.equal(made["is_productive"], false);
    assert.equal(made["sync_mode"], "hold");
    assert.equal(made["execution_location"], "flow");
    assert.match(String(made["key"]), KEY);
  });

  test("create: a taken name, a flow, role or project that is not there", async () => {
    assert.match(await refuse(["create", "orders", "--flow", "echo"], 1), /orders/);
    assert.match(
      await refuse(["create", "a", "--flow", "none"], 1),
      /^flow: there is no flow "none"\. Known: echo\n$/,
    );
    assert.match(
      await refuse(["create", "a", "--flow", "echo", "--role", "none"], 1),
      /^role: there is no role "none"\n$/,
    );
    const project = ["create", "a", "--flow", "echo", "--project", "none"];
    assert.equal(await refuse(project, 1), 'There is no project "none"\n');
    assert.match(await refuse(["create", "a/b", "--flow", "echo"], 1), /^name: .+\n$/);
    assert.match(await refuse(["create", "a"], 2), /--flow/);
    assert.match(
      await refuse(["create", "a", "--flow", "echo", "--sync-mode", "x"], 2),
      /redirect/,
    );
  });

  test("set: prints the difference, and changes it; show: has it", async () => {
    await session.write("members.yaml", "default_mode: async\nasync_status: 202\n");
    const difference = 'default_mode: "sync" -> "async"\nasync_status: 201 -> 202\n';
    assert.equal(await succeed(["set", "full", "members.yaml", "--dry-run"]), difference);
    assert.match(await succeed(["show", "full"]), /^default_mode +sync$/m);
    assert.match(await succeed(["show", "full"]), /^calls get +the result$/m);
    assert.doesNotMatch(await succeed(["show", "full"]), /^call_mode/m);
    assert.equal(await succeed(["set", "full", "members.yaml"]), difference);
    assert.match(await succeed(["show", "full"]), /^default_mode +async$/m);
    assert.equal(await succeed(["set", "full", "members.yaml"]), "Nothing differs\n");
    const shown = await succeed(["show", "full", "--json"]);
    assert.equal(await succeed(["set", "full", "-"], shown), "Nothing differs\n");
    const guarded = '{"is_enabled": true, "async_status": 201}';
    await session.write("guarded.json", guarded);
    const unasked = await session.run(["webhook", "set", "full", "guarded.json"]);
    assert.equal(unasked.code, 2, all(unasked));
    assert.match(unasked.stderr, /no terminal .*--password-stdin/);
    const set = ["set", "full", "guarded.json", "--password-stdin", "--json"];
    const after = JSON.parse(await succeed(set, PASSWORD_LINE)) as Record<string, unknown>;
    assert.deepEqual([after["is_enabled"], after["async_status"]], [true, 201]);
    await session.write("guarded.json", '{"is_enabled": false, "async_status": 204}');
    const wrong = await session.run(["webhook", ...set], { input: "not the password\n" });
    assert.equal(wrong.code, 1, all(wrong));
    assert.match(wrong.stderr, /password.*[^.]\. Changed before that: async_status\n$/i);
    assert.match(await succeed(["show", "full"]), /^async_status +204$/m);
  });

  test("set: what a terminal would obey is printed by its code", async () => {
    const members = JSON.stringify({ description: "\u009b2J\u202e" });
    const difference = await succeed(["set", "full", "-", "--dry-run"], members);
    assert.match(difference, /^description: ".*" -> "\\u009b2J\\u202e"\n$/);
  });

  test("set: what is left out in a member is its default, and differs only from another", async () => {
    const { service } = session;
    await succeed(["create", "short", "--flow", "echo"]);
    await service.api("POST", "/secret", { name: "set", value: "a secret of somebody" });
    const custom = { algorithm: "hmac-sha256", header: "X-Sign" };
    const members = {
      idempotency: { from: "header:X-Id" },
      cors: { origins: ["https://app.example.com"] },
      limits: { rate: { calls: 5, per_sec: 60 } },
      signature: { scheme: "custom", secrets: ["set"], custom },
      key: null,
    };
    const set = (given: object, ...options: string[]) => {
      const args = ["set", "short", "short.json", "--password-stdin", ...options];
      return session
        .write("short.json", JSON.stringify(given))
        .then(() => succeed(args, PASSWORD_LINE));
    };
    const first = await set(members);
    assert.match(first, /^idempotency: null -> {"from":"header:x-id","window_sec":86400,/m);
    assert.match(first, /^key: removed$/m);
    assert.equal(await set(members), "Nothing differs\n");
    assert.equal(await set(members, "--dry-run"), "Nothing differs\n");
    for (const scheme of ["github", "slack", "gitlab_token"]) {
      const other = { signature: { scheme, secrets: ["set"] } };
      assert.match(await set(other), /^signature: {.*} -> {.*}\n$/);
      assert.equal(await set(other), "Nothing differs\n");
    }
    await set({ idempotency: { ...members.idempotency, required: true } });
    const back = await set({ idempotency: members.idempotency }, "--dry-run");
    assert.match(back, /^idempotency: .*"required":true.* -> .*"required":false.*\n$/);
  });

  test("check: warns of addresses without proxies that are trusted", async () => {
    const config = join(session.service.directory, "flowhook.yaml");
    const check = (env = {}) => session.run(["check", "--config", config], { env });
    assert.doesNotMatch((await check()).stderr, /allowed_addresses/);
    const set = (addresses: string) =>
      succeed(["set", "full", `${addresses}.json`, "--password-stdin"], PASSWORD_LINE);
    await session.write("some.json", '{"allowed_addresses": ["10.0.0.0/8"]}');
    await session.write("none.json", '{"allowed_addresses": []}');
    await set("some");
    const warned = await check();
    assert.equal(warned.code, 0, all(warned));
    assert.match(warned.stderr, /^allowed_addresses of "full" .*TRUSTED_PROXIES is empty.*\n$/);
    const trusting = await check({ FLOWHOOK_TRUSTED_PROXIES: '["10.0.0.1"]' });
    assert.equal(trusting.stderr, "");
    await set("none");
    assert.equal((await check()).stderr, "");
  });

  test("set: what is no member, and no file", async () => {
    assert.match(await refuse(["set", "full", "-"], 1, "[1]"), /^Expected members of a webhook/);
    assert.match(await refuse(["set", "full", "-"], 1, "a: ["), /^Expected YAML in "-"/);
    assert.match(await refuse(["set", "full", "none.yaml"], 1), /^Cannot read "none.yaml"/);
    const unknown = await refuse(["set", "full", "-", "--dry-run"], 1, "default_mod: async");
    assert.match(unknown, /^default_mod: unknown: did you mean "default_mode"\?/);
    const id = await refuse(["set", "full", "-", "--dry-run"], 1, "created_by: ada");
    assert.match(id, /^created_by: unknown/);
    const value = await refuse(["set", "full", "-", "--dry-run"], 1, "default_mode: x");
    assert.match(value, /^default_mode: expected "sync" or "async", found "x"\n$/);
    const wrong = await refuse(["set", "full", "-"], 1, "default_mode: x");
    assert.match(wrong, /^default_mode: expected "sync" or "async", found "x"\n$/);
  });

  test("set: a generated key is shown this once, a given one never", async () => {
    await succeed(["create", "keyed", "--flow", "echo"]);
    const set = async (key: unknown, ...options: string[]) => {
      await session.write("key.json", JSON.stringify({ key, default_mode: "async" }));
      return succeed(["set", "keyed", "key.json", "--password-stdin", ...options], PASSWORD_LINE);
    };
    const shown = await set({ generate: true });
    assert.match(shown, /^key: changes$/m);
    assert.match(shown, /^key {2}fhk_[\w-]{43} {2}\(shown this once\)$/m);
    assert.match((JSON.parse(await set({ generate: true }, "--json")) as { key: string }).key, KEY);
    assert.doesNotMatch(await set("a-key-of-my-own-1815"), /1815|shown/);
    assert.doesNotMatch(await set({ generate: true }, "--dry-run"), KEY);
    await succeed(["delete", "keyed"]);
  });

  test("set: a refused file changes nothing, and what needs a guarded member comes after it", async () => {
    await succeed(["create", "shut", "--flow", "echo"]);
    const state = async () => JSON.parse(await succeed(["show", "shut", "--json"])) as object;
    const before = await state();
    const open = { is_enabled: true, key: null };
    const set = ["set", "shut", "open.json", "--password-stdin"];
    for (const [wrong, said] of [
      [{ allowed_adresses: ["10.0.0.0/8"] }, /^allowed_adresses: unknown: did you mean "allowed_/],
      [{ limits: { rate: { calls: 5, per_sek: 60 } } }, /limits\.rate\.per_sek: unknown/],
      [{ role: "none of ours" }, /^role: there is no role "none of ours"\n$/],
      [{ input_check: "refuse" }, /^input_check: /],
    ] as const) {
      await session.write("open.json", JSON.stringify({ ...open, ...wrong }));
      assert.match(await refuse(set, 1, PASSWORD_LINE), said);
      assert.deepEqual(await state(), before);
    }
    const rate = { calls: 5, per_sec: 60, by: "user" };
    const needing = { is_enabled: true, require_login: true, limits: { rate } };
    const unset = { ...needing, response_headers: { a: "b", A: "c" } };
    await session.write("open.json", JSON.stringify(unset));
    const half = await refuse(set, 1, PASSWORD_LINE);
    assert.match(half, /is there twice.*Changed before that: require_login\n$/);
    await session.write("open.json", JSON.stringify(needing));
    assert.match(await succeed(set, PASSWORD_LINE), /^is_enabled: false -> true$/m);
    const after = (await state()) as Record<string, unknown>;
    assert.deepEqual([after["is_enabled"], after["require_login"]], [true, true]);
    assert.match(JSON.stringify(after["limits"]), /"by":"user"/);
    const custom = { algorithm: "token", header: "X-Token" };
    const signature = { scheme: "custom", secrets: ["set"], custom };
    await session.write("open.json", JSON.stringify({ signature }));
    await succeed(set, PASSWORD_LINE);
    const signed = await state();
    for (const weaker of [null, { ...signature, mode: "observe" }]) {
      const wrong = { signature: weaker, idempotency: { from: "scheme" } };
      await session.write("open.json", JSON.stringify(wrong));
      assert.match(await refuse(set, 1, PASSWORD_LINE), /^idempotency\.from: [^.]+\n$/);
      assert.deepEqual(await state(), signed);
    }
    await succeed(["delete", "shut"]);
  });

  test("openapi: prints a document to hand over", async () => {
    await succeed(["create", "described", "--flow", "echo"]);
    const document = JSON.parse(await succeed(["openapi", "described"])) as { paths: object };
    assert.deepEqual(Object.keys(document.paths), [
      "/webhook/described/call",
      "/webhook/described/call/{sub_path}",
    ]);
    assert.match(await refuse(["openapi", "nothing"], 1), /There is no webhook "nothing"/);
  });

  test("signature: sets it, shows what the sender is given, and takes it away", async () => {
    const { service } = session;
    const value = "a secret of somebody";
    const made = await service.api("POST", "/secret", { name: "sender", value });
    assert.equal(made.status, 201);
    const set = ["signature", "orders", "--scheme", "github", "--secret", "sender"];
    const printed = await succeed([...set, "--password-stdin"], PASSWORD_LINE);
    assert.match(printed, /^admits +key and signature$/m);
    assert.match(printed, /^for sender +http.*\/call\?async$/m);
    assert.match(
      printed,
      /\n\nIt still needs its key as well: .* Take it away with: flowhook webhook key --none orders\n$/,
    );
    const observed = await succeed([...set, "--observe", "--password-stdin"], PASSWORD_LINE);
    assert.match(observed, /^signature +github, observed$/m);
    assert.match(observed, /^admits +key$/m);
    assert.match(observed, /\. Once signatures are enforced, take the key away with: flowhook /);
    assert.match(await refuse(["signature", "orders", "--scheme", "github"], 2), /--secret/);
    const open = ["signature", "orders", "--scheme", "github", "--secret", "sender"];
    await succeed([...open, "--password-stdin"], PASSWORD_LINE);
    await succeed(["enable", "orders", "--password-stdin"], PASSWORD_LINE);
    await succeed(["key", "orders", "--none", "--password-stdin"], PASSWORD_LINE);
    assert.doesNotMatch(
      await succeed([...open, "--password-stdin"], PASSWORD_LINE),
      /needs its key/,
    );
    const signed = ["call", "orders", "-d", '{"a":1}', "--sign", "--secret-stdin"];
    const called = await session.run(signed, { input: `${value}\n` });
    assert.equal(called.stdout, '{"a":1}', all(called));
    const unasked = await session.run(signed.slice(0, -1));
    assert.equal(unasked.code, 2);
    assert.match(unasked.stderr, /no terminal to ask for the secret: use --secret-stdin$/m);
    const { body } = await service.api("GET", "/execution?webhook=orders&limit=1");
    const [{ id }] = (body as { items: [{ id: string }] }).items;
    const shown = await session.run(["execution", "show", id]);
    assert.match(shown.stdout, /^verified +github, secret sender$/m);
    const unsigned = await session.run(["call", "orders"]);
    assert.equal(unsigned.code, 1);
    assert.match(
      await succeed(["refusals", "orders"]),
      /401 +not_authenticated +GET .*signature_missing$/m,
    );
    assert.match(await succeed(["refusals", "full"]), /^No call was refused/);
    await succeed(["key", "orders", "--generate", "--password-stdin"], PASSWORD_LINE);
    await succeed(["disable", "orders", "--password-stdin"], PASSWORD_LINE);
    const none = ["signature", "orders", "--none", "--password-stdin"];
    assert.doesNotMatch(await succeed(none, PASSWORD_LINE), /signature/);
  });

  test("enable and disable: with the password on standard input", async () => {
    const enabled = await succeed(["enable", "orders", "--password-stdin"], PASSWORD_LINE);
    assert.match(enabled, /^enabled +yes$/m);
    assert.match(await succeed(["list", "--enabled"]), /^orders +yes +productive +key +echo/m);
    assert.doesNotMatch(await succeed(["list", "--disabled"]), /^orders/m);
    assert.equal(await succeed(["list", "--text", "nothing like it"]), "No webhook matches\n");
    const disabled = await succeed(["disable", "orders", "--password-stdin"], PASSWORD_LINE);
    assert.match(disabled, /^enabled +no$/m);
    const login = ["enable", "orders", "--require-login", "--password-stdin", "--json"];
    const answer = JSON.parse(await succeed(login, PASSWORD_LINE)) as Record<string, unknown>;
    assert.deepEqual([answer["is_enabled"], answer["require_login"]], [true, true]);
    const open = ["enable", "orders", "--no-require-login", "--password-stdin"];
    assert.match(await succeed(open, PASSWORD_LINE), /^admits +key$/m);
  });

  test("enable: a wrong password, and none", async () => {
    const wrong = await refuse(["enable", "orders", "--password-stdin"], 1, "not the password\n");
    assert.match(
      wrong,
      /^Found a wrong password, expected your own: .*: flowhook user password NAME\n$/,
    );
    assert.doesNotMatch(wrong, /not the password|member/);
    assert.match(await refuse(["enable", "orders"], 2), /no terminal .*--password-stdin/);
    assert.match(
      await refuse(["enable", "none", "--password-stdin"], 1, PASSWORD_LINE),
      /^There is no webhook "none"\n$/,
    );
  });

  test("key: generated, given, and none", async () => {
    const generated = await succeed(
      ["key", "orders", "--generate", "--password-stdin"],
      PASSWORD_LINE,
    );
    const [first = ""] = KEY.exec(generated) ?? [];
    assert.equal(await statusWith(first), 200);

    const given = "a-key-of-my-own-1815";
    const set = ["key", "orders", "--set", "-", "--keep-previous", "60", "--password-stdin"];
    await succeed(set, `${PASSWORD_LINE}${given}\n`);
    assert.deepEqual([await statusWith(given), await statusWith(first)], [200, 200]);

    const again = await succeed(
      ["key", "orders", "--generate", "--password-stdin", "--json"],
      PASSWORD_LINE,
    );
    assert.match((JSON.parse(again) as { key: string }).key, KEY);
    assert.deepEqual([await statusWith(given), await statusWith(first)], [401, 401]);

    const none = await succeed(["key", "orders", "--none", "--password-stdin"], PASSWORD_LINE);
    assert.match(none, /^admits +everybody$/m);
    assert.equal(await statusWith(""), 200);
  });

  async function statusWith(key: string): Promise<number> {
    const answer = await fetch(`${session.service.url}/api/latest/webhook/orders/call`, {
      headers: key === "" ? {} : { authorization: `Bearer ${key}` },
    });
    await answer.arrayBuffer();
    return answer.status;
  }

  test("key: exactly one way, and never on the command line", async () => {
    assert.match(await refuse(["key", "orders"], 2), /--generate, --set - and --none/);
    assert.match(await refuse(["key", "orders", "--generate", "--none"], 2), /conflict|cannot/);
    const shown = ["key", "orders", "--set", "a-key-of-my-own-1815", "--password-stdin"];
    assert.match(await refuse(shown, 2, PASSWORD_LINE), /Allowed choices are -/);
    const short = ["key", "orders", "--set", "-", "--password-stdin"];
    const refused = await refuse(short, 1, `${PASSWORD_LINE}short\n`);
    assert.match(refused, /^key: .*16/);
  });

  test("export and import: disabled, with new keys", async () => {
    await succeed(["export", "orders", "full", "-o", "webhooks.yaml"]);
    const file = readFileSync(join(session.folder, "webhooks.yaml"), "utf8");
    assert.match(file, /name: orders/);
    assert.doesNotMatch(file, /key|enabled|require_login/);
    assert.equal(await succeed(["export", "orders", "full"]), file);
    assert.equal(await succeed(["export", "orders", "full", "-o", "-"]), file);

    const dry = await succeed(["import", "webhooks.yaml", "--conflicts", "rename", "--dry-run"]);
    assert.match(dry, /^orders-2 +rename/m);
    assert.match(dry, /Nothing was changed/);
    assert.doesNotMatch(await succeed(["list"]), /orders-2/);

    const renamed = await succeed(["import", "webhooks.yaml", "--conflicts", "rename"]);
    assert.match(renamed, /^WEBHOOK +ACTION +CHANGES$/m);
    assert.match(renamed, /^orders-2 +rename +-$/m);
    const keys = renamed.split("\nKeys, shown this once\n")[1] ?? "";
    assert.match(keys, /^orders-2 +fhk_[\w-]{43}$/m, "whole, however narrow the terminal is");
    assert.match(await succeed(["list"]), /^orders-2 +no /m);

    assert.match(await succeed(["import", "webhooks.yaml"]), /^orders +skip/m);
    const changed = file.replace("description: ''", "description: Changed");
    const replaced = await succeed(["import", "-", "--conflicts", "replace"], changed);
    assert.match(replaced, /^orders +replace +description: "" -> "Changed"$/m);
  });

  test("import: a signed webhook has a key as well, and how that is removed is said", async () => {
    await session.run(["secret", "set", "SIGNS"], { input: "a-secret-of-a-sender" });
    const text = `format: flowhook/export/v2
webhooks:
  - { name: plainly, flow: echo }
  - { name: -signed, flow: echo, signature: { scheme: github, secrets: [SIGNS] } }
`;
    const printed = await succeed(["import", "-"], text);
    const [, advice] = printed.split("If the sender sends no key:\n");
    assert.equal(advice, "flowhook webhook key --none -- -signed\n");
    const again = await succeed(["import", "-", "--conflicts", "replace"], text);
    assert.doesNotMatch(again, /key/i);
  });

  test("import: each fault in a line of its own", async () => {
    const text = `format: flowhook/export/v2
webhooks: [{ name: a, flow: nothing }, { name: b, flow: echo, project: nowhere }]
`;
    assert.equal(
      await refuse(["import", "-"], 1, text),
      'webhooks.0.flow: webhook "a": there is no flow "nothing" here\n' +
        'webhooks.1.project: webhook "b": there is no project "nowhere" here\n',
    );
  });

  test("export and import: what cannot be done", async () => {
    assert.equal(await refuse(["export", "none"], 1), 'There is no webhook "none"\n');
    assert.match(await refuse(["export", "-o", "no/such/folder"], 1), /^Cannot write the export: /);
    assert.match(await refuse(["import", "none.yaml"], 1), /^Cannot read "none\.yaml": .+\n$/);
    assert.match(await refuse(["import", "-"], 1, "a: [\n"), /^The document is not YAML: /);
    assert.match(
      await refuse(["import", "-"], 1, "webhooks: []\n"),
      /format: is required: expected "flowhook\/export\/v2" or "flowhook\/export\/v1"\n$/,
    );
    assert.match(await refuse(["import", "-"], 1, "format: other\nwebhooks: []\n"), /^format: /);
    assert.match(await refuse(["import", "-", "--conflicts", "x"], 2), /skip, replace, rename/);
  });

  test("delete: it is gone, and a second time there is none", async () => {
    await succeed(["create", "brief", "--flow", "echo"]);
    const said = 'Deleted the webhook "brief"; its executions stay\n';
    assert.equal(await succeed(["delete", "brief"]), said);
    assert.match(await refuse(["delete", "brief"], 1), /^There is no webhook "brief"/);
  });

  test("no password is ever printed", async () => {
    const printed = await succeed(["list", "--json"]);
    assert.ok(!printed.includes(ADMIN_PASSWORD));
    assert.ok(!session.service.logs().includes(ADMIN_PASSWORD));
  });
});
