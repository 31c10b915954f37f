import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { executionId, poll, type Group, type StoryRow } from "../scenario.ts";
import type { Json, Service } from "../service.ts";
import { call } from "./leg.ts";

const KEY = "blackbox-canary-key-of-refused";
const SECRET = "blackbox-canary-secret-of-refused";
/** As the service makes them. */
const GENERATED = `fhk_${"canary".repeat(8).slice(0, 43)}`;
/** As short as a token may be. */
const SHORT = "canary-8";

type Refused = Readonly<Record<string, Json>> & {
  readonly headers: Readonly<Record<string, string>>;
};

/** @param count of its calls that were refused until now: another node lists them a moment later */
function listRefused(service: Service, webhook: string, count: number): Promise<Refused[]> {
  return poll(`${count} refused calls of ${webhook}`, async () => {
    const answer = await service.api("GET", `/webhook/${webhook}/refusal`);
    assert.equal(answer.status, 200, answer.text);
    for (const canary of [KEY, SECRET, SHORT, GENERATED, service.token()])
      assert.ok(!answer.text.includes(canary));
    const { items } = answer.body as unknown as { items: Refused[] };
    assert.ok(items.length <= count, answer.text);
    return items.length === count ? items : null;
  });
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

const ROWS: StoryRow[] = [
  {
    name: "a refused call is listed with its reason, its address and the hash of its body",
    covers: ["D1.3 list"],
    async run(service) {
      assert.deepEqual(await listRefused(service, "signed", 0), []);
      const headers = {
        "x-hub-signature-256": "sha256=00",
        "x-request-id": "request-1",
        "content-type": "application/json",
        authorization: `Bearer ${KEY}`,
        cookie: "a=b",
        "x-api-key": "short",
        "x-plain": "plain",
      };
      const more = { method: "POST", body: "{ }", headers };
      assert.equal((await call(service, "signed", "/sub?async&key=other", more)).status, 401);
      const [refused] = await listRefused(service, "signed", 1);
      assert.ok(refused !== undefined);
      const { at, headers: shown, ...rest } = refused;
      assert.match(String(at), /^20.*Z$/);
      assert.deepEqual(rest, {
        code: "not_authenticated",
        reason: "signature_wrong",
        status: 401,
        method: "POST",
        path: "/api/latest/webhook/signed/call/sub",
        address: "127.0.0.1",
        request_id: "request-1",
        body_bytes: 3,
        body_sha256: sha256("{ }"),
      });
      assert.equal(shown["x-hub-signature-256"], "sha256=00");
      assert.equal(shown["x-plain"], "plain");
      for (const name of ["authorization", "cookie", "x-api-key"]) assert.equal(shown[name], "…");
    },
  },
  {
    name: "keys, tokens and the header that is a secret are nowhere in it",
    covers: ["D1.3 secrets"],
    async run(service) {
      const bearer = {
        authorization: `Bearer ${KEY}`,
        "x-copy": KEY,
        "content-type": `text/${KEY}`,
      };
      const path = `/${KEY}?async&key=${KEY}`;
      const typed = { method: "POST", body: "text", headers: bearer };
      assert.equal((await call(service, "keyed", path, typed)).status, 415);
      const inBody = {
        method: "POST",
        body: JSON.stringify({ key: KEY, a: { b: 1 } }).slice(0, -1),
      };
      const json = {
        "content-type": "application/json",
        "x-copy": KEY,
        authorization: `Bearer ${KEY}`,
      };
      assert.equal(
        (await call(service, "keyed", `/${KEY}`, { ...inBody, headers: json })).status,
        400,
      );
      const logged = { "x-service-token": `${service.token()}x`, "x-copy": `${service.token()}x` };
      assert.equal((await call(service, "login", "", { headers: logged })).status, 401);
      const token = { "x-gitlab-token": `${SECRET}x` };
      assert.equal((await call(service, "token", "", { headers: token })).status, 401);
      const [wrong] = await listRefused(service, "token", 1);
      assert.equal(wrong?.headers["x-gitlab-token"], "…");
      const keyed = await listRefused(service, "keyed", 2);
      assert.deepEqual(
        keyed.map(({ status }) => status),
        [400, 415],
      );
      assert.equal(keyed[1]?.["path"], "/api/latest/webhook/keyed/call/***");
      assert.equal((await listRefused(service, "login", 1))[0]?.["body_sha256"], null);
    },
  },
  {
    name: "a key or a token in a wrong place stands nowhere in it, and in no line of the log",
    covers: ["D1.3 secrets"],
    async run(service) {
      const [path, query] = [`/${GENERATED}/x`, `?async&k=${GENERATED}`];
      const headers = { "x-caller": `for ${GENERATED}`, "x-token-of": service.token() };
      const more = { headers: { ...headers, "x-request-id": GENERATED } };
      assert.equal((await call(service, "misplaced", path + query, more)).status, 401);
      const encoded = `/${GENERATED.replace("_", "%5F").replace("k", "%6b")}`;
      assert.equal((await call(service, "misplaced", encoded)).status, 401);
      const [second, first] = await listRefused(service, "misplaced", 2);
      assert.equal(first?.["path"], "/api/latest/webhook/misplaced/call/***/x");
      assert.equal(first?.headers["x-caller"], "for ***");
      assert.equal(first?.["request_id"], "***");
      assert.equal(second?.["path"], "/api/latest/webhook/misplaced/call/***");
      await poll("the line of the log", async () =>
        /"webhook":"misplaced".*"Call refused"/.test(service.logs()) ? true : null,
      );
      assert.ok(!service.logs().includes(GENERATED));
    },
  },
  {
    name: "the header that is the secret is hidden whatever its name, right or wrong",
    covers: ["D1.3 secrets"],
    async run(service) {
      for (const [token, type, status, count] of [
        [SHORT, "text/plain", 415, 1],
        [`${SHORT}x`, "text/plain", 401, 2],
      ] as const) {
        const headers = { "x-sender": token, "content-type": type };
        const answer = await call(service, "short", "", { method: "POST", body: "x", headers });
        assert.equal(answer.status, status, answer.text);
        const [refused] = await listRefused(service, "short", count);
        assert.equal(refused?.headers["x-sender"], "…");
      }
    },
  },
  {
    name: "of long headers and reasons a little is kept, and of signatures their own",
    covers: ["D1.3 list"],
    async run(service) {
      const long = Object.entries("abcdefghijklmnopqrstuvwxyz").map(([, letter]) => {
        return [`x-${letter}`, letter.repeat(400)] as const;
      });
      const headers = {
        ...Object.fromEntries(long),
        "content-type": `text/${"x".repeat(2000)}`,
        "x-hub-signature-256": "sha256=00",
      };
      const sent = { method: "POST", body: "x", headers };
      assert.equal((await call(service, "signed", "?async", sent)).status, 401);
      assert.equal((await call(service, "open", "?async", sent)).status, 415);
      for (const [webhook, count] of [
        ["signed", 2],
        ["open", 1],
      ] as const) {
        const [refused] = await listRefused(service, webhook, count);
        assert.ok(JSON.stringify(refused).length < 6000, JSON.stringify(refused));
        assert.equal(refused?.headers["x-a"], "a".repeat(400));
        if (webhook === "signed")
          assert.equal(refused?.headers["x-hub-signature-256"], "sha256=00");
      }
    },
  },
  {
    name: "the hash of a body is listed however large it is, where it cannot be parsed",
    covers: ["D1.3 list"],
    async run(service) {
      let count = 2;
      for (const length of [10, 70_000, 2_000_000]) {
        const body = `{"pad": "${"x".repeat(length)}"`;
        const headers = { "content-type": "application/json" };
        const asked = {
          method: "POST",
          body,
          headers: { ...headers, authorization: `Bearer ${KEY}` },
        };
        assert.equal((await call(service, "keyed", "?async", asked)).status, 400);
        assert.equal((await call(service, "keyed", "?async", { ...asked, headers })).status, 401);
        count += 2;
        for (const refused of (await listRefused(service, "keyed", count)).slice(0, 2))
          assert.deepEqual(
            [refused["body_bytes"], refused["body_sha256"]],
            [body.length, sha256(body)],
          );
      }
    },
  },
  {
    name: "the hash of a body is listed wherever its call is refused, also once it was parsed",
    covers: ["D1.3 list"],
    async run(service) {
      const count = { strict: 0, both: 0, busy: 0 };
      const first = await call(service, "busy", "?async&ms=600000");
      assert.equal(first.status, 201, first.text);
      for (const [webhook, key, status, code] of [
        ["both", "of nobody, in the body", 401, "not_authenticated"],
        ["both", KEY, 401, "not_authenticated"],
        ["strict", KEY, 422, "invalid_input"],
        ["busy", KEY, 429, "webhook_busy"],
      ] as const)
        for (const length of [10, 70_000, 2_000_000]) {
          const body = JSON.stringify({ key, pad: "x".repeat(length), umlaut: "ö" });
          const headers = { "content-type": "application/json" };
          const answer = await call(service, webhook, "?async", { method: "POST", body, headers });
          assert.equal(answer.status, status, answer.text);
          count[webhook] += 1;
          const [refused] = await listRefused(service, webhook, count[webhook]);
          assert.deepEqual(
            [refused?.["code"], refused?.["body_bytes"], refused?.["body_sha256"]],
            [code, Buffer.byteLength(body), sha256(body)],
          );
        }
      await service.api("POST", `/execution/${executionId(first)}/cancel`);
    },
  },
  {
    name: "a disabled webhook lists who called it; the limit is 1 to 100",
    covers: ["D1.3 list"],
    async run(service) {
      for (let n = 0; n < 3; n += 1) assert.equal((await call(service, "off")).status, 404);
      assert.equal((await listRefused(service, "off", 3)).length, 3);
      const one = await service.api("GET", "/webhook/off/refusal?limit=1");
      assert.equal((one.body as { items: Json[] }).items.length, 1);
      for (const limit of ["0", "101", "x"])
        assert.equal((await service.api("GET", `/webhook/off/refusal?limit=${limit}`)).status, 422);
      assert.equal((await service.api("GET", "/webhook/nothing/refusal")).status, 404);
    },
  },
];

export const REFUSED: Group = {
  name: "refused calls",
  flows: ["echo", "sleep", "strict"],
  secrets: { sender: SECRET, short: SHORT },
  webhooks: {
    signed: { flow: "echo", signature: { scheme: "github", secrets: ["sender"] } },
    token: { flow: "echo", signature: { scheme: "gitlab_token", secrets: ["sender"] } },
    short: {
      flow: "echo",
      signature: {
        scheme: "custom",
        secrets: ["short"],
        custom: { algorithm: "token", header: "x-sender" },
      },
    },
    keyed: { flow: "echo", key: KEY },
    misplaced: { flow: "echo", key: GENERATED },
    both: {
      flow: "echo",
      key: KEY,
      signature: { scheme: "github", secrets: ["sender"] },
    },
    strict: { flow: "strict", input_check: "refuse" },
    busy: { flow: "sleep", limits: { max_concurrent: 1, when_busy: "refuse" } },
    open: { flow: "echo" },
    login: { flow: "echo", require_login: true },
    off: { flow: "echo", is_enabled: false },
  },
  rows: ROWS,
};
