import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { sign as signGithub } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import type { Answer } from "../client.ts";
import {
  countExecutions,
  endedExecution,
  executionId,
  poll,
  readExecution,
  type Group,
  type StoryRow,
} from "../scenario.ts";
import { ADMIN_PASSWORD, type Service } from "../service.ts";
import { call, nextUrl } from "./leg.ts";

const KEY = "blackbox-canary-key-of-signatures";
const OLD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const TEXT = "blackbox-canary-secret-of-a-sender";
const BODY = '{"type":"order.paid","id":"evt_1"}';
const JSON_TYPE = { "content-type": "application/json" };
const TOKEN = { "x-gitlab-token": TEXT };

const seconds = (): number => Math.floor(Date.now() / 1000);
const hmac = (key: string, text: string): string =>
  createHmac("sha256", key).update(text).digest("hex");

let count = 0;

function standard(
  body: string,
  secret = OLD,
  id = `msg_${(count += 1)}`,
  at = new Date(),
): Record<string, string> {
  return {
    ...JSON_TYPE,
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(id, at, body),
  };
}

function slack(body: string): Record<string, string> {
  const at = seconds();
  const signature = `v0=${hmac(TEXT, `v0:${at}:${body}`)}`;
  return { ...JSON_TYPE, "x-slack-request-timestamp": String(at), "x-slack-signature": signature };
}

/** What each sender's own library, or its documentation, puts into the headers. */
const SENDERS: Readonly<Record<string, (body: string) => Promise<Record<string, string>>>> = {
  standard_webhooks: async (body) => standard(body),
  github: async (body) => ({ ...JSON_TYPE, "x-hub-signature-256": await signGithub(TEXT, body) }),
  stripe: async (payload) => ({
    ...JSON_TYPE,
    "stripe-signature": new Stripe("sk_test_nothing").webhooks.generateTestHeaderString({
      payload,
      secret: TEXT,
    }),
  }),
  slack: async (body) => slack(body),
  shopify: async (body) => ({
    ...JSON_TYPE,
    "x-shopify-hmac-sha256": createHmac("sha256", TEXT).update(body).digest("base64"),
  }),
  gitlab_token: async () => ({ ...JSON_TYPE, ...TOKEN }),
};

function assertUnauthorized(answer: Answer): void {
  assert.equal(answer.status, 401, answer.text);
  assert.equal(answer.text, '"401 Unauthorized"');
  assert.equal(answer.headers["www-authenticate"], "Bearer");
  assert.equal(answer.headers["flowhook-execution-id"], undefined);
}

function post(
  service: Service,
  webhook: string,
  body: string | Uint8Array,
  headers: object,
  path = "?async",
) {
  return call(service, webhook, path, { method: "POST", body, headers });
}

function senderRow(scheme: string): StoryRow {
  return {
    name: `${scheme}: right, wrong and none`,
    covers: ["D1.1 schemes", "D1.1 failure", "D1.1 verified"],
    async run(service) {
      const headers = (await SENDERS[scheme]?.(BODY)) ?? {};
      const right = await post(service, scheme, BODY, headers);
      assert.equal(right.status, 201, right.text);
      const record = await endedExecution(service, executionId(right));
      const verified = record["verified"] as Record<string, unknown>;
      assert.equal(verified["scheme"], scheme);
      assert.match(String(record["address"]), /^127\.0\.0\.1$/);
      const before = await countExecutions(service, scheme);
      if (scheme !== "gitlab_token")
        assertUnauthorized(await post(service, scheme, `${BODY} `, headers));
      const [name = "", value = ""] = Object.entries(headers).at(-1) ?? [];
      assertUnauthorized(await post(service, scheme, BODY, { ...headers, [name]: `${value}x` }));
      assertUnauthorized(await post(service, scheme, BODY, JSON_TYPE));
      assert.equal(await countExecutions(service, scheme), before);
    },
  };
}

const LEGS: StoryRow[] = [
  {
    name: "legs of a signed call are admitted by their own signature alone",
    covers: ["D1.1 re-entry"],
    async run(service) {
      const first = await post(service, "standard_webhooks", BODY, standard(BODY), "");
      assert.equal(first.status, 303);
      const { search } = nextUrl(service, first);
      assert.match(search, /=[0-9a-f-]{36}\.[\w-]{43}$/);
      assert.equal((await call(service, "standard_webhooks", search)).status, 200);
      const unsigned = `?__wait_execution_id=${executionId(first)}`;
      assertUnauthorized(await call(service, "standard_webhooks", unsigned));
      assertUnauthorized(await call(service, "standard_webhooks", `${unsigned}.AAAA`));
      assertUnauthorized(
        await call(service, "standard_webhooks", unsigned, { headers: standard("") }),
      );
    },
  },
  {
    name: "a right key does not admit a leg where signatures are enforced; the leg's own does",
    covers: ["D1.1 re-entry", "D1.1 together"],
    async run(service) {
      const headers = { ...standard(BODY), authorization: `Bearer ${KEY}` };
      const first = await post(service, "keyed", BODY, headers, "");
      assert.equal(first.status, 303);
      const unsigned = `?__wait_execution_id=${executionId(first)}`;
      const bearer = { headers: { authorization: `Bearer ${KEY}` } };
      assertUnauthorized(await call(service, "keyed", unsigned, bearer));
      assert.equal((await call(service, "keyed", nextUrl(service, first).search)).status, 200);
    },
  },
  {
    name: "a change of the signature, or of its secret's value, voids legs; the same value does not",
    covers: ["D1.1 re-entry"],
    async run(service) {
      const leg = async () => {
        const first = await post(service, "changing", BODY, standard(BODY), "");
        assert.equal(first.status, 303, first.text);
        return nextUrl(service, first).search;
      };
      const old = await leg();
      await patchSecret(service, "changing", OLD, 200);
      assert.equal((await call(service, "changing", old)).status, 200);
      await patchSecret(service, "changing", NEW, 200);
      assertUnauthorized(await call(service, "changing", old));
      assertUnauthorized(await post(service, "changing", BODY, standard(BODY)));
      assert.equal((await post(service, "changing", BODY, standard(BODY, NEW))).status, 201);
      await patchSecret(service, "changing", OLD, 200);
      const again = await leg();
      const signature = { scheme: "standard_webhooks", secrets: ["changing"], tolerance_sec: 60 };
      await authenticate(service, "changing", { signature }, 200);
      assertUnauthorized(await call(service, "changing", again));
    },
  },
];

async function authenticate(service: Service, name: string, change: object, status: number) {
  const body = { password: ADMIN_PASSWORD, ...change };
  const answer = await service.api("PUT", `/webhook/${name}/authentication`, body);
  assert.equal(answer.status, status, answer.text);
  return answer;
}

async function patchSecret(service: Service, name: string, value: string, status: number) {
  const answer = await service.api("PATCH", `/secret/${name}`, { value });
  assert.equal(answer.status, status, answer.text);
  return answer;
}

const BYTES: StoryRow[] = [
  {
    name: "what came off the socket is what is signed: chunked, spaced, with a byte order mark",
    covers: ["D1.1 bytes"],
    async run(service) {
      for (const body of ['{"a" :\t1.0,\n"a":1e0 }', "\uFEFF{}", `{"n":"${"x".repeat(70_000)}"}`]) {
        const request = { method: "POST", body, headers: standard(body) };
        for (const chunked of [false, true]) {
          const answer = await call(service, "standard_webhooks", "?async", {
            ...request,
            chunked,
          });
          assert.equal(answer.status, 201, answer.text);
        }
      }
    },
  },
  {
    name: "an empty chunked body is verified as no bytes, and is answered",
    covers: ["D1.1 bytes"],
    async run(service) {
      const request = { method: "POST", body: "", chunked: true };
      const signed = { ...request, headers: standard("") };
      const answer = await call(service, "standard_webhooks", "?async", signed);
      assert.equal(answer.status, 201, answer.text);
      const wrong = { ...request, headers: standard("x") };
      assertUnauthorized(await call(service, "standard_webhooks", "?async", wrong));
    },
  },
  {
    name: "a binary body is verified, and then refused for its type as ever",
    covers: ["D1.1 bytes"],
    async run(service) {
      const body = Buffer.from([0, 255, 254, 10, 13, 0]);
      const sent = `sha256=${createHmac("sha256", TEXT).update(body).digest("hex")}`;
      const headers = { "content-type": "image/png", "x-hub-signature-256": sent };
      assert.equal((await post(service, "github", body, headers)).status, 415);
      const ascii = Buffer.from("text");
      const signed = `sha256=${createHmac("sha256", TEXT).update(ascii).digest("hex")}`;
      const typed = { ...headers, "x-hub-signature-256": signed };
      assert.equal((await post(service, "github", ascii, typed)).status, 415);
      const encoded = { ...typed, ...JSON_TYPE, "content-encoding": "gzip" };
      assert.equal((await post(service, "github", ascii, encoded)).status, 415);
      assertUnauthorized(await post(service, "github", ascii, headers));
    },
  },
  {
    name: "a GET and an empty POST sign zero bytes",
    covers: ["D1.1 bytes"],
    async run(service) {
      for (const method of ["GET", "HEAD", "POST", "DELETE"]) {
        const headers = standard("");
        const answer = await call(service, "standard_webhooks", "?async", { method, headers });
        assert.equal(answer.status, 201, `${method} ${answer.text}`);
      }
      const request = { method: "GET", headers: standard(""), body: BODY };
      assert.equal((await call(service, "standard_webhooks", "?async", request)).status, 201);
    },
  },
  {
    name: "a stale and an early timestamp",
    covers: ["D1.1 failure"],
    async run(service) {
      for (const shift of [-310_000, 310_000]) {
        const headers = standard(BODY, OLD, "msg_2", new Date(Date.now() + shift));
        assertUnauthorized(await post(service, "standard_webhooks", BODY, headers));
      }
    },
  },
];

const TOGETHER: StoryRow[] = [
  {
    name: "key and signature: both, wherever the key is, in large bodies too",
    covers: ["D1.1 together"],
    async run(service) {
      for (const pad of [1, 70_000]) {
        const body = JSON.stringify({ key: KEY, pad: "x".repeat(pad) });
        const right = await post(service, "keyed", body, standard(body));
        assert.equal(right.status, 201, right.text);
        const { input_value } = await endedExecution(service, executionId(right));
        assert.deepEqual((input_value as { json: object }).json, { pad: "x".repeat(pad) });
        const other = body.replace(KEY, KEY.replace("canary", "linnet"));
        assertUnauthorized(await post(service, "keyed", other, standard(other)));
        assertUnauthorized(await post(service, "keyed", `${body} `, standard(body)));
      }
      const headers = { ...standard(BODY), authorization: `Bearer ${KEY}` };
      assert.equal((await post(service, "keyed", BODY, headers)).status, 201);
      assertUnauthorized(await post(service, "keyed", BODY, standard(BODY)));
      assertUnauthorized(await post(service, "keyed", `${BODY} `, headers));
    },
  },
  {
    name: "the header that is the secret is not passed on, nor its value anywhere else",
    covers: ["D1.1 token header"],
    async run(service) {
      const headers = { ...JSON_TYPE, ...TOKEN, "x-copy": TEXT };
      const answer = await post(service, "gitlab_token", BODY, headers, `/${TEXT}?async&q=${TEXT}`);
      assert.equal(answer.status, 201);
      assert.ok(!answer.head.includes(TEXT), answer.head);
      const record = await endedExecution(service, executionId(answer));
      assert.ok(!JSON.stringify(record).includes(TEXT), JSON.stringify(record));
      assert.equal((record["verified"] as { secret: string }).secret, "text");
    },
  },
  {
    name: "the flow sees what was verified; signature headers stay in the input",
    covers: ["D1.1 verified"],
    async run(service) {
      const headers = standard(BODY);
      const answer = await post(service, "identity", BODY, headers, "");
      const result = await call(service, "identity", nextUrl(service, answer).search);
      const execution = JSON.parse(result.text) as Record<string, unknown>;
      const timestamp = headers["webhook-timestamp"];
      const verified = {
        scheme: "standard_webhooks",
        secret: "standard",
        id: headers["webhook-id"],
        timestamp,
      };
      assert.deepEqual(execution["verified"], verified);
      assert.equal(execution["address"], "127.0.0.1");
      const record = await readExecution(service, executionId(answer));
      assert.deepEqual(record["verified"], verified);
      const { headers: passed } = record["input_value"] as { headers: Record<string, string> };
      assert.equal(passed["webhook-signature"], headers["webhook-signature"]);
    },
  },
  {
    name: "observe: what is wrong passes, is logged and counted; what is right is verified",
    covers: ["D1.1 observe"],
    async run(service) {
      const wrong = await post(service, "observed", BODY, JSON_TYPE);
      assert.equal(wrong.status, 201);
      assert.equal((await readExecution(service, executionId(wrong)))["verified"], null);
      const right = await post(service, "observed", BODY, standard(BODY));
      const { verified } = await readExecution(service, executionId(right));
      assert.equal((verified as { scheme: string }).scheme, "standard_webhooks");
      const unsigned = `?__wait_execution_id=${executionId(right)}`;
      assert.equal((await call(service, "observed", unsigned)).status, 200);
      await poll("the line of the log", async () =>
        /"reason":"signature_missing".*"Signature is wrong, observed"/.test(service.logs())
          ? true
          : null,
      );
      // A token that is repeated as the request's id stands in no line, either.
      const repeated = { "x-service-token": KEY, "x-request-id": KEY };
      const forged = { ...standard(BODY), "webhook-signature": "v1,AAAA", ...repeated };
      assert.equal((await post(service, "observed", BODY, forged)).status, 201);
      const metrics = await (await fetch(`${service.url}/metrics`)).text();
      for (const result of ["right", "signature_missing"])
        assert.ok(
          metrics.includes(`flowhook_signature_total{webhook="observed",result="${result}"} 1`),
          metrics
            .split("\n")
            .filter((line) => line.includes("signature"))
            .join("\n"),
        );
    },
  },
  {
    name: "the reason of a refusal is in the log alone",
    covers: ["D1.1 failure"],
    async run(service) {
      assertUnauthorized(
        await post(service, "github", "reason", { "x-hub-signature-256": "sha256=00" }),
      );
      await poll("the line of the log", async () =>
        /"webhook":"github","code":"not_authenticated","reason":"signature_wrong"/.test(
          service.logs(),
        )
          ? true
          : null,
      );
    },
  },
];

/** The answers of two calls belong to one execution, and the second says so. */
function assertReplayed(first: Answer, second: Answer): void {
  assert.equal(executionId(second), executionId(first));
  assert.equal(first.headers["idempotent-replayed"], undefined);
  assert.equal(second.headers["idempotent-replayed"], "true");
}

const REPLAYS: StoryRow[] = [
  {
    name: "a signature admits one execution; a second call gets what it asks for of the first",
    covers: ["D1.2 window"],
    async run(service) {
      // Stripe signs no id: the same body in the same second is the same call.
      const body = '{"id":"evt_replay"}';
      for (const [webhook, sign] of [
        ["replayed", () => Promise.resolve(standard(body, OLD, "msg_replay"))],
        ["stripe", SENDERS["stripe"]],
      ] as const) {
        const headers = (await sign?.(body)) ?? {};
        const before = await countExecutions(service, webhook);
        const first = await post(service, webhook, body, headers);
        assert.equal(first.status, 201, first.text);
        const again = await post(service, webhook, body, headers);
        assert.deepEqual([again.status, again.text], [201, first.text]);
        assertReplayed(first, again);
        const redirected = await post(service, webhook, body, headers, "");
        assert.equal(redirected.status, 303);
        assertReplayed(first, redirected);
        const { search } = nextUrl(service, redirected);
        assert.match(search, /=[0-9a-f-]{36}\.\d+\.[\w-]{43}$/);
        assert.equal((await call(service, webhook, search)).status, 200);
        assertUnauthorized(await call(service, webhook, search.replace(/\.\d/, ".9")));
        const held = await post(service, webhook, body, { ...headers, prefer: "wait=10" }, "");
        assert.equal(held.status, 200);
        assertReplayed(first, held);
        assert.equal(await countExecutions(service, webhook), before + 1);
        // Nobody waits for the line to be written.
        await poll("the line of the execution's log", async () => {
          const log = await service.api("GET", `/execution/${executionId(first)}/log`);
          return /A duplicate call came from 127\.0\.0\.1/.test(log.text) ? true : null;
        });
      }
    },
  },
  {
    name: "50 calls at once with one signature are one execution",
    covers: ["D1.2 window"],
    async run(service) {
      const headers = standard(BODY, OLD, "msg_parallel");
      const before = await countExecutions(service, "replayed");
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => post(service, "replayed", BODY, headers)),
      );
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
      assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
      assert.equal(await countExecutions(service, "replayed"), before + 1);
    },
  },
  {
    name: "to leave out one of two signatures makes no fresh one",
    covers: ["D1.2 window"],
    async run(service) {
      const at = new Date();
      const one = standard(BODY, OLD, "msg_two", at);
      const other = standard(BODY, NEW, "msg_two", at);
      const name = "webhook-signature";
      const both = { ...one, [name]: `${one[name]} ${other[name]}` };
      const first = await post(service, "two-secrets", BODY, both);
      assert.equal(first.status, 201);
      for (const headers of [one, other])
        assertReplayed(first, await post(service, "two-secrets", BODY, headers));
    },
  },
  {
    name: "what was refused later stores nothing; without a window, and observed, all start anew",
    covers: ["D1.2 window"],
    async run(service) {
      const headers = standard("text", OLD, "msg_refused");
      const typed = { ...headers, "content-type": "text/plain" };
      assert.equal((await post(service, "replayed", "text", typed)).status, 415);
      const broken = standard("{", OLD, "msg_broken");
      assert.equal((await post(service, "replayed", "{", broken)).status, 400);
      for (const [webhook, sent] of [
        ["github", await SENDERS["github"]?.(BODY)],
        ["observed", standard(BODY, OLD, "msg_observed")],
      ] as const) {
        const ids = [
          await post(service, webhook, BODY, sent ?? {}),
          await post(service, webhook, BODY, sent ?? {}),
        ];
        assert.notEqual(ids[0]?.text, ids[1]?.text);
      }
    },
  },
];

const ROTATION: StoryRow = {
  name: "a secret is replaced without a refused call",
  covers: ["D1.1 rotation"],
  async run(service) {
    const set = (secrets: string[]) =>
      authenticate(
        service,
        "rotating",
        { signature: { scheme: "standard_webhooks", secrets } },
        200,
      );
    const admitted = async (secret: string) =>
      (await post(service, "rotating", BODY, standard(BODY, secret))).status;
    assert.equal(await admitted(OLD), 201);
    await set(["standard", "standard-new"]);
    assert.deepEqual([await admitted(OLD), await admitted(NEW)], [201, 201]);
    await set(["standard-new"]);
    assert.deepEqual([await admitted(OLD), await admitted(NEW)], [401, 201]);
  },
};

const HANDSHAKE: StoryRow = {
  name: "Slack's url_verification: the challenge, signed, and no execution",
  covers: ["D1.1 handshake"],
  async run(service) {
    const body = (challenge: unknown) => JSON.stringify({ type: "url_verification", challenge });
    const before = await countExecutions(service, "slack");
    for (const path of ["", "?async"]) {
      const text = body("3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P");
      const answer = await post(service, "slack", text, slack(text), path);
      assert.equal(answer.status, 200);
      assert.match(answer.headers["content-type"] ?? "", /^text\/plain/);
      assert.equal(answer.text, "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P");
      assertUnauthorized(await post(service, "slack", `${text} `, slack(text), path));
    }
    for (const wrong of [body("x".repeat(1025)), body(7), body(undefined)])
      assert.equal((await post(service, "slack", wrong, slack(wrong))).status, 400);
    assert.equal(await countExecutions(service, "slack"), before);
    const other = body("x");
    assert.equal((await post(service, "observed", other, JSON_TYPE)).status, 201);
  },
};

const SECRETS: StoryRow = {
  name: "a secret that a webhook names stays, and stays usable",
  covers: ["D1.1 secrets"],
  async run(service) {
    const removed = await service.api("DELETE", "/secret/text");
    assert.equal(removed.status, 409);
    for (const name of ["github", "slack"])
      assert.match(removed.text, new RegExp(`\\\\"${name}\\\\"`));
    const refused = await patchSecret(service, "standard", "whsec_short", 422);
    assert.match(refused.text, /value: .*webhook \\"/);
    const signature = { scheme: "github", secrets: ["nothing"] };
    const missing = await authenticate(service, "github", { signature }, 422);
    assert.match(missing.text, /signature\.secrets\.0: there is no secret/);
  },
};

const scheme = (name: string, secret = "text", more: object = {}) => ({
  flow: "echo",
  signature: { scheme: name, secrets: [secret], ...more },
});

export const SIGNATURES: Group = {
  name: "signatures",
  flows: ["echo", "identity"],
  secrets: { standard: OLD, "standard-new": NEW, changing: OLD, text: TEXT },
  webhooks: {
    standard_webhooks: scheme("standard_webhooks", "standard"),
    github: scheme("github"),
    stripe: scheme("stripe"),
    slack: scheme("slack"),
    shopify: scheme("shopify"),
    gitlab_token: scheme("gitlab_token"),
    changing: scheme("standard_webhooks", "changing"),
    rotating: scheme("standard_webhooks", "standard"),
    replayed: scheme("standard_webhooks", "standard"),
    "two-secrets": {
      flow: "echo",
      signature: { scheme: "standard_webhooks", secrets: ["standard", "standard-new"] },
    },
    observed: scheme("standard_webhooks", "standard", { mode: "observe" }),
    keyed: { ...scheme("standard_webhooks", "standard"), key: KEY },
    identity: { ...scheme("standard_webhooks", "standard"), flow: "identity" },
  },
  rows: [
    ...Object.keys(SENDERS).map(senderRow),
    ...LEGS,
    ...BYTES,
    ...TOGETHER,
    ...REPLAYS,
    ROTATION,
    HANDSHAKE,
    SECRETS,
  ],
};
