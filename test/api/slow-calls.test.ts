import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { enable } from "./running.ts";
import { memberOf, openTestService, type TestService } from "./test-service.ts";

/** What is changed while the body of a call comes: the call is held against what holds then. */

const BODY = '{"text":"it comes slowly"}';
const [FIRST, SECOND, THIRD] = ["the-first-key-of-w", "the-second-key-of-w", "the-third-key-of-w"];
const [OLD, NEW] = ["an old value of it", "a new value of it"];
const KEPT = { keep_previous_sec: 600 };

let service: TestService;

before(async () => {
  service = await openTestService();
  await service.want(201, "POST", "/secret", { body: { name: "s", value: OLD } });
});

after(() => service[Symbol.asyncDispose]());

/** A call whose head and first bytes have come; `finish` sends the rest. */
async function openCall(name: string, headers: Record<string, string>, body: string) {
  const length =
    body === "" ? { "transfer-encoding": "chunked" } : { "content-length": `${body.length}` };
  const own = { "content-type": "application/json", expect: "100-continue", ...length };
  const sent = request(`${service.url}/api/latest/webhook/${name}/call?async`, {
    method: "POST",
    headers: { ...own, ...headers },
  });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  sent.flushHeaders();
  // It is asked for its body once all that is checked before has been checked.
  await once(sent, "continue");
  if (body !== "") sent.write(body.slice(0, 5));
  return {
    async finish() {
      sent.end(body.slice(5));
      const [answer] = await answered;
      return { status: answer.statusCode, text: await text(answer) };
    },
  };
}

function signedBy(secret: string): Record<string, string> {
  const hash = createHmac("sha256", secret).update(BODY).digest("hex");
  return { "x-hub-signature-256": `sha256=${hash}` };
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const GITHUB = { scheme: "github", secrets: ["s"] };

interface Row {
  readonly what: string;
  /** Members of PUT authentication, one after the other; without a key unless they have one. */
  readonly at: readonly object[];
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly change: (name: string) => Promise<unknown>;
  readonly status: number;
}

const put =
  (more: object): Row["change"] =>
  (name) =>
    enable(service, name, more);
const patchSecret =
  (value: string): Row["change"] =>
  () =>
    service.want(200, "PATCH", "/secret/s", { body: { value } });

const ROWS: readonly Row[] = [
  {
    what: "signed with a secret whose value is replaced",
    at: [{ signature: GITHUB }],
    headers: signedBy(OLD),
    change: patchSecret(NEW),
    status: 401,
  },
  {
    what: "signed with the value that a secret gets",
    at: [{ signature: GITHUB }],
    headers: signedBy(OLD),
    change: patchSecret(OLD),
    status: 201,
  },
  { what: "a signature is asked for", at: [{}], change: put({ signature: GITHUB }), status: 401 },
  {
    what: "a signature is observed",
    at: [{}],
    change: put({ signature: { ...GITHUB, mode: "observe" } }),
    status: 201,
  },
  { what: "a login is required", at: [{}], change: put({ require_login: true }), status: 401 },
  {
    what: "its address is allowed no more",
    at: [{}],
    change: put({ allowed_addresses: ["192.0.2.0/24"] }),
    status: 403,
  },
  {
    what: "its key is the previous one, and another is kept in its place",
    at: [{ key: FIRST }, { key: SECOND, ...KEPT }],
    headers: bearer(FIRST),
    change: put({ key: THIRD, ...KEPT }),
    status: 401,
  },
  {
    what: "its key is replaced and kept",
    at: [{ key: FIRST }, { key: SECOND, ...KEPT }],
    headers: bearer(SECOND),
    change: put({ key: THIRD, ...KEPT }),
    status: 201,
  },
  {
    what: "its key, which is in the body, is replaced",
    at: [{ key: FIRST }],
    body: `{"key":"${FIRST}"}`,
    change: put({ key: SECOND }),
    status: 401,
  },
  { what: "a key is asked for", at: [{}], change: put({ key: FIRST }), status: 401 },
  {
    what: "its key is taken away",
    at: [{ key: FIRST }],
    headers: bearer(FIRST),
    change: put({ key: null }),
    status: 201,
  },
  { what: "it is disabled", at: [{}], change: put({ is_enabled: false }), status: 404 },
  {
    what: "it is disabled, and the body has nothing in it",
    at: [{}],
    body: "",
    change: put({ is_enabled: false }),
    status: 404,
  },
];

for (const [n, { what, at, headers = {}, body = BODY, change, status }] of ROWS.entries())
  test(`a call whose body comes slowly: ${what}: ${status}`, async () => {
    const name = `w${n}`;
    await service.want(201, "POST", "/webhook", { body: { name, flow: "echo" } });
    for (const more of at) await enable(service, name, { key: null, ...more });
    const call = await openCall(name, headers, body);
    await change(name);
    const answer = await call.finish();
    assert.equal(answer.status, status, answer.text);
  });

for (const [where, headers, body] of [
  ["header", bearer(FIRST), BODY],
  ["body", {}, `{"key":"${FIRST}","text":"it comes slowly"}`],
] as const)
  test(`a call whose body comes slowly: a key is asked for, which its ${where} has: 201`, async () => {
    const name = `keyed-by-${where}`;
    await service.want(201, "POST", "/webhook", { body: { name, flow: "echo" } });
    await enable(service, name, { key: null });
    const call = await openCall(name, headers, body);
    await enable(service, name, { key: FIRST });
    const answer = await call.finish();
    assert.equal(answer.status, 201, answer.text);
    const { json } = await service.want(200, "GET", `/execution/${answer.text}`);
    const input = memberOf(json, "input_value");
    assert.deepEqual([input.includes("it comes slowly"), input.includes(FIRST)], [true, false]);
  });

test("a call whose body comes slowly: its login ends: 401", async () => {
  await service.want(201, "POST", "/webhook", { body: { name: "mine", flow: "echo" } });
  await enable(service, "mine", { key: null, require_login: true });
  const token = await service.login();
  const call = await openCall("mine", { "x-service-token": token }, BODY);
  await service.want(204, "POST", "/auth/logout", { token });
  const answer = await call.finish();
  assert.equal(answer.status, 401, answer.text);
});

test("a call whose body comes slowly has the role that its webhook has then", async () => {
  await service.want(201, "POST", "/webhook", { body: { name: "roled", flow: "echo" } });
  await enable(service, "roled", { key: null });
  const call = await openCall("roled", {}, BODY);
  await service.want(200, "PATCH", "/webhook/roled", { body: { role: null } });
  const answer = await call.finish();
  assert.equal(answer.status, 201, answer.text);
  const { json } = await service.want(200, "GET", `/execution/${answer.text}`);
  assert.equal(memberOf(json, "role"), "null");
});
