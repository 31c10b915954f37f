import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { Webhook } from "standardwebhooks";
import {
  ADMIN_PASSWORD,
  itemsOf,
  openTestService,
  PASSWORD,
  type TestService,
} from "./test-service.ts";
import { callWebhook, enable } from "./running.ts";

let service: TestService;

const SECRETS = {
  standard: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  text: "a secret of somebody",
  short: "5hort",
};

before(async () => {
  service = await openTestService();
  for (const [name, value] of Object.entries(SECRETS))
    await service.want(201, "POST", "/secret", { body: { name, value } });
  await service.want(201, "POST", "/webhook", { body: { name: "w", flow: "echo" } });
});

after(() => service[Symbol.asyncDispose]());

const set = (signature: unknown, status = 200) =>
  service.want(status, "PUT", "/webhook/w/authentication", {
    body: { password: ADMIN_PASSWORD, signature },
  });

async function read(): Promise<unknown> {
  const { json } = await service.want(200, "GET", "/webhook/w");
  return (json as { signature: unknown }).signature;
}

const CUSTOM = { algorithm: "hmac-sha256", header: "X-Sign" };
const custom = (more: object) => ({
  scheme: "custom",
  secrets: ["text"],
  custom: { ...CUSTOM, ...more },
});

test("what is left out has its default; what is read can be set again", async () => {
  for (const [given, expected] of [
    [
      { scheme: "standard_webhooks", secrets: ["standard"] },
      { mode: "enforce", tolerance_sec: 300, custom: null },
    ],
    [
      { scheme: "github", secrets: ["text"], mode: "observe" },
      { mode: "observe", tolerance_sec: null, custom: null },
    ],
    [{ scheme: "stripe", secrets: ["text"], tolerance_sec: 0 }, { tolerance_sec: 0 }],
    [
      custom({}),
      {
        tolerance_sec: null,
        custom: {
          algorithm: "hmac-sha256",
          header: "x-sign",
          prefix: "",
          separator: null,
          parameter: null,
          encoding: "hex",
          secret_encoding: "utf8",
          message: "{body}",
          timestamp: null,
          id_header: null,
        },
      },
    ],
    [
      custom({ algorithm: "token" }),
      {
        custom: {
          algorithm: "token",
          header: "x-sign",
          prefix: "",
          separator: null,
          parameter: null,
          id_header: null,
        },
      },
    ],
    [
      custom({ timestamp: { header: "X-At" }, message: "{timestamp}{body}" }),
      { tolerance_sec: 300 },
    ],
    [null, null],
  ] as const) {
    await set(given);
    const found = await read();
    if (expected === null) assert.equal(found, null);
    else assert.deepEqual(found, { ...(found as object), ...expected });
    await set(found);
    assert.deepEqual(await read(), found);
  }
});

const github = { scheme: "github", secrets: ["text"] };

const REFUSED: readonly (readonly [signature: object, field: string])[] = [
  [{ scheme: "nobody", secrets: ["text"] }, "signature.scheme"],
  [{ scheme: "github" }, "signature.secrets"],
  [{ scheme: "github", secrets: [] }, "signature.secrets"],
  [{ scheme: "github", secrets: ["text", "text"] }, "signature.secrets"],
  [{ scheme: "github", secrets: ["a", "b", "c", "d", "e", "f"] }, "signature.secrets"],
  [{ scheme: "github", secrets: ["nothing"] }, "signature.secrets.0"],
  [{ scheme: "github", secrets: ["text", "short"] }, "signature.secrets.1"],
  [{ scheme: "standard_webhooks", secrets: ["text"] }, "signature.secrets.0"],
  [{ ...github, mode: "perhaps" }, "signature.mode"],
  [{ ...github, more: 1 }, "signature.more"],
  [{ ...github, tolerance_sec: 300 }, "signature.tolerance_sec"],
  [{ scheme: "stripe", secrets: ["text"], tolerance_sec: 3601 }, "signature.tolerance_sec"],
  [{ ...github, custom: CUSTOM }, "signature.custom"],
  [{ scheme: "custom", secrets: ["text"] }, "signature.custom"],
  [{ scheme: "custom", secrets: ["text"], custom: { header: "x" } }, "signature.custom.algorithm"],
  [custom({ header: "two words" }), "signature.custom.header"],
  [custom({ separator: "|" }), "signature.custom.separator"],
  [custom({ message: "{timestamp}" }), "signature.custom.message"],
  [custom({ message: "{body}{body}" }), "signature.custom.message"],
  [custom({ message: "{body}{word}" }), "signature.custom.message"],
  [custom({ message: "{body}{id}" }), "signature.custom.message"],
  [custom({ message: "{body}{url}" }), "signature.custom.message"],
  [custom({ message: "{body}{timestamp}" }), "signature.custom.message"],
  [custom({ timestamp: { header: "x" } }), "signature.custom.message"],
  [
    custom({ timestamp: { unit: "s" }, message: "{timestamp}{body}" }),
    "signature.custom.timestamp",
  ],
  [
    custom({ timestamp: { parameter: "t" }, message: "{timestamp}{body}" }),
    "signature.custom.timestamp.parameter",
  ],
  [custom({ message: "{body}\0" }), "signature.custom.message"],
  [custom({ message: `{body}${"x".repeat(251)}` }), "signature.custom.message"],
  [custom({ prefix: " v1=" }), "signature.custom.prefix"],
  [custom({ prefix: "v1\n=" }), "signature.custom.prefix"],
  [custom({ prefix: "größe=" }), "signature.custom.prefix"],
  [custom({ prefix: "v1,", separator: "," }), "signature.custom.prefix"],
  [custom({ prefix: "v1 =", separator: " " }), "signature.custom.prefix"],
  [custom({ algorithm: "token", message: "{body}" }), "signature.custom.message"],
  [custom({ algorithm: "token", encoding: "hex" }), "signature.custom.encoding"],
  [custom({ algorithm: "token", secret_encoding: "hex" }), "signature.custom.secret_encoding"],
  [custom({ algorithm: "ed25519" }), "signature.secrets.0"],
  [{ ...custom({}), tolerance_sec: 5 }, "signature.tolerance_sec"],
];

test("what is unknown, contradictory or cannot be used is refused and named", async () => {
  for (const [signature, field] of REFUSED) {
    const { json, text } = await set(signature, 422);
    const { errors } = json as { errors: { field: string }[] };
    assert.equal(errors[0]?.field, field, `${JSON.stringify(signature)}: ${text}`);
    for (const secret of Object.values(SECRETS)) assert.ok(!text.includes(secret), text);
  }
  assert.equal(await read(), null);
});

test("a message has any characters, and is signed as UTF-8", async () => {
  const timestamp = { header: "x-time", unit: "s" };
  const message = "größe\r\n\t{timestamp}\n{body}🔑";
  await set(custom({ message, timestamp }));
  const { custom: found } = (await read()) as { custom: { message: string } };
  assert.equal(found.message, message);
  await enable(service, "w", { key: null });
  const time = String(Math.floor(Date.now() / 1000));
  const sign = (text: string) =>
    createHmac("sha256", SECRETS.text).update(Buffer.from(text)).digest("hex");
  const call = async (signature: string) => {
    const headers = { "x-time": time, "x-sign": signature };
    return (await callWebhook(service, "w", "ü", headers)).status;
  };
  assert.equal(await call(sign(`größe\r\n\t${time}\n"ü"🔑`)), 201);
  assert.equal(await call(sign(`größe\n\t${time}\n"ü"🔑`)), 401);
  await set(null);
});

test("only the authentication endpoint sets it, for who may use secrets", async () => {
  const patched = await service.want(403, "PATCH", "/webhook/w", { body: { signature: null } });
  assert.match(patched.text, /signature can be changed only with PUT/);
  await service.want(422, "POST", "/webhook", {
    body: { name: "v", flow: "echo", signature: null },
  });
  const permissions = ["webhook.*", "execution.*"].map((permission) => ({ permission }));
  await service.want(201, "POST", "/role", { body: { name: "gate", permissions } });
  await service.want(200, "PATCH", "/webhook/w", { body: { role: null } });
  const token = await service.user("warden", ["gate"]);
  const asked = (signature: unknown) => ({ token, body: { password: PASSWORD, signature } });
  const path = "/webhook/w/authentication";
  assert.match((await service.want(403, "PUT", path, asked(github))).text, /secret\.use/);
  await service.want(200, "PUT", path, asked(null));
});

test("a signature admits one execution, also after a restart", async () => {
  await set({ scheme: "standard_webhooks", secrets: ["standard"] });
  await enable(service, "w", { key: null });
  const at = new Date();
  const headers = {
    "webhook-id": "msg_restart",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(SECRETS.standard).sign("msg_restart", at, "{}"),
  };
  const first = await (await callWebhook(service, "w", {}, headers)).text();
  await service.restart();
  const again = await callWebhook(service, "w", {}, headers);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal(await again.text(), first);
});

test("legs that were signed before a secret's change are void, whatever is changed beside it", async () => {
  const value = (round: number) => `whsec_${Buffer.alloc(24, round).toString("base64")}`;
  await set({ scheme: "standard_webhooks", secrets: ["standard"] });
  await enable(service, "w", { key: null });
  for (let round = 1; round <= 5; round += 1) {
    await service.want(200, "PATCH", "/secret/standard", { body: { value: value(round) } });
    const [id, at] = [`msg_leg_${round}`, new Date()];
    const leads = await fetch(`${service.url}/api/latest/webhook/w/call`, {
      method: "POST",
      body: "{}",
      redirect: "manual",
      headers: {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
        "webhook-signature": new Webhook(value(round)).sign(id, at, "{}"),
      },
    });
    assert.equal(leads.status, 303, await leads.text());
    const leg = new URL(leads.headers.get("location") ?? "", leads.url);
    assert.equal((await fetch(leg)).status, 200);
    await Promise.all([
      enable(service, "w", {}),
      service.want(200, "PATCH", "/secret/standard", { body: { value: value(round + 100) } }),
    ]);
    assert.equal((await fetch(leg)).status, 401);
  }
  await service.want(200, "PATCH", "/secret/standard", { body: { value: SECRETS.standard } });
});

test("it is carried with its secrets' names, and set where the webhook is created", async () => {
  await set(custom({}));
  const signature = await read();
  const text = (await service.want(200, "GET", "/export?webhook=w")).text;
  for (const secret of Object.values(SECRETS)) assert.ok(!text.includes(secret));
  const take = (status: number, query: string, of: string) =>
    service.want(status, "POST", `/import${query}`, { text: of });
  const changed = text.replace("x-sign", "x-other");
  const replaced = await take(200, "?conflicts=replace", changed);
  assert.deepEqual(itemsOf(replaced.json)[0]?.["changes"], {});
  assert.deepEqual(await read(), signature, "one that is there keeps its own");
  const renamed = await take(200, "?conflicts=rename", text);
  assert.equal(itemsOf(renamed.json)[0]?.["name"], "w-2");
  const { json } = await service.want(200, "GET", "/webhook/w-2");
  assert.deepEqual((json as { signature: unknown }).signature, signature);
  await service.want(409, "DELETE", "/secret/text");
  await set(null);
  await service.want(409, "DELETE", "/secret/text");
  await service.want(204, "DELETE", "/webhook/w-2");
  await service.want(204, "DELETE", "/secret/text");
  const missing = await take(422, "?conflicts=rename", text);
  assert.match(missing.text, /webhooks\.0\.signature\.secrets\.0: webhook .* there is no secret/);
});

test("what is imported by a secret that is changed meanwhile is refused", async () => {
  await service.want(201, "POST", "/secret", { body: { name: "turning", value: SECRETS.text } });
  let refused = "";
  for (let round = 0; refused === "" && round < 20; round += 1) {
    const text = manyBySecret(`round-${round}`, "turning");
    let isUnder = true;
    const imported = service.ask("POST", "/import", { text }).finally(() => (isUnder = false));
    for (let n = 0; isUnder; n += 1)
      await service.ask("PATCH", "/secret/turning", { body: { value: `${SECRETS.text} ${n}` } });
    const { status, code, text: said } = await imported;
    if (status === 200) continue;
    assert.deepEqual([status, code], [412, "changed_meanwhile"], said);
    refused = said;
    await service.want(404, "GET", `/webhook/round-${round}`);
    await service.want(200, "POST", "/import", { text });
    await service.want(200, "GET", `/webhook/round-${round}`);
  }
  assert.match(refused, /Import the document again/, "none was refused");
});

/** The first of them checks signatures with it; those after it are what takes its time. */
function manyBySecret(name: string, secret: string): string {
  const others = Array.from({ length: 400 }, (_, n) => `  - { name: ${name}-${n}, flow: echo }\n`);
  return (
    `format: flowhook/export/v2\nwebhooks:\n` +
    `  - { name: ${name}, flow: echo, signature: { scheme: github, secrets: [${secret}] } }\n` +
    others.join("")
  );
}
