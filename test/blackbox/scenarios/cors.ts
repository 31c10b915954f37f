import assert from "node:assert/strict";
import { openGates } from "../gates.ts";
import type { Answer } from "../client.ts";
import { assertAnswer, assertForbidden } from "../expectation.ts";
import {
  countExecutions,
  endedExecution,
  executionId,
  readExecution,
  type CallRow,
  type Group,
  type StoryRow,
} from "../scenario.ts";
import { ADMIN_PASSWORD, type Service } from "../service.ts";
import { answering, PLAIN, response } from "./answering.ts";
import { call, nextUrl } from "./leg.ts";

/** Pages of other origins: what their browsers ask, and what they may read. */

const SHOP = "https://shop.example";
const OTHER = "https://other.example:8443";
const FOREIGN = "https://foreign.example";
const KEY = "blackbox-canary-key-of-cors";
const JSON_TYPE = { "content-type": "application/json" };

const EXPOSED =
  "flowhook-execution-id, idempotent-replayed, location, retry-after, ratelimit, ratelimit-policy";

const NO_CORS = {
  "access-control-allow-origin": null,
  "access-control-allow-credentials": null,
  "access-control-allow-methods": null,
  "access-control-allow-headers": null,
  "access-control-expose-headers": null,
  "access-control-max-age": null,
};

const readable = (origin: string) => ({
  ...NO_CORS,
  "access-control-allow-origin": origin,
  "access-control-expose-headers": EXPOSED,
});

const asks = (origin: string, method: string) => ({
  origin,
  "access-control-request-method": method,
  "access-control-request-headers": "authorization, content-type",
});

interface Asked {
  readonly webhook: string;
  readonly origin: string;
  readonly method: string;
  readonly path?: string;
}

/** A preflight that is answered. */
function admits(name: string, asked: Asked, headers: CallRow["expect"]["headers"]): CallRow {
  const { webhook, origin, method, path = "" } = asked;
  return {
    name: `a preflight: ${name}`,
    covers: ["D5.4 preflight"],
    webhook,
    path,
    method: "OPTIONS",
    headers: asks(origin, method),
    expect: {
      status: 204,
      body: { text: "" },
      execution: "none",
      headers: {
        ...NO_CORS,
        "access-control-allow-headers":
          "authorization, content-type, idempotency-key, prefer, x-service-token",
        "access-control-max-age": "600",
        vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
        ...headers,
      },
    },
  };
}

const SIX = "GET, HEAD, POST, PUT, PATCH, DELETE";

const ADMITTED: readonly CallRow[] = [
  admits(
    "the first of two origins",
    { webhook: "shop", origin: SHOP, method: "POST" },
    { "access-control-allow-origin": SHOP, "access-control-allow-methods": SIX },
  ),
  admits(
    "the second of them, and a sub-path",
    { webhook: "shop", origin: OTHER, method: "DELETE", path: "/a/b?x=1" },
    { "access-control-allow-origin": OTHER, "access-control-allow-methods": SIX },
  ),
  admits(
    "any origin",
    { webhook: "any", origin: FOREIGN, method: "PUT" },
    { "access-control-allow-origin": "*", "access-control-allow-methods": SIX },
  ),
  admits(
    "the origin null of frames that are kept apart",
    { webhook: "frames", origin: "null", method: "POST" },
    { "access-control-allow-origin": "null", "access-control-allow-methods": SIX },
  ),
  admits(
    "with credentials",
    { webhook: "login", origin: SHOP, method: "POST" },
    {
      "access-control-allow-origin": SHOP,
      "access-control-allow-credentials": "true",
      "access-control-allow-methods": SIX,
    },
  ),
  admits(
    "the origin null never has credentials",
    { webhook: "login", origin: "null", method: "POST" },
    { "access-control-allow-origin": "null", "access-control-allow-methods": SIX },
  ),
  admits(
    "of a key nobody asks",
    { webhook: "keyed", origin: SHOP, method: "POST" },
    {
      "access-control-allow-origin": SHOP,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "x-own",
      "access-control-max-age": "0",
    },
  ),
  admits(
    "GET of a leg, where only POST is taken",
    { webhook: "keyed", origin: SHOP, method: "GET", path: "?__wait_execution_id=x" },
    {
      "access-control-allow-origin": SHOP,
      "access-control-allow-methods": "POST, GET",
      "access-control-allow-headers": "x-own",
      "access-control-max-age": "0",
    },
  ),
];

/** Any other OPTIONS: the same answer, whatever is wrong. */
const REFUSED: readonly (readonly [name: string, webhook: string, headers: object])[] = [
  ["an origin that is not listed", "shop", asks(FOREIGN, "POST")],
  ["an origin that begins alike", "shop", asks(`${SHOP}.evil.example`, "POST")],
  ["an origin of another scheme", "shop", asks("http://shop.example", "POST")],
  ["the origin null where it is not listed", "shop", asks("null", "POST")],
  ["a method that nobody takes", "shop", asks(SHOP, "TRACE")],
  ["a method in small letters", "shop", asks(SHOP, "patch")],
  ["a method that is not listed", "keyed", asks(SHOP, "GET")],
  ["an address that is not listed", "inside", asks(SHOP, "POST")],
  ["a webhook without cors", "plain", asks(SHOP, "POST")],
  ["a disabled webhook", "disabled", asks(SHOP, "POST")],
  ["an unknown webhook", "unknown", asks(SHOP, "POST")],
  ["a name that cannot be decoded", "%ff", asks(SHOP, "POST")],
  ["OPTIONS without an origin", "shop", { "access-control-request-method": "POST" }],
  ["OPTIONS without a method", "shop", { origin: SHOP }],
];

const STORIES: readonly StoryRow[] = [
  {
    name: "any other OPTIONS has one answer, without a word on origins, and is not listed",
    covers: ["D5.4 preflight"],
    async run(service) {
      for (const [name, webhook, headers] of REFUSED) {
        const answer = await call(service, webhook, "", { method: "OPTIONS", headers });
        assert.equal(answer.status, 405, name);
        assert.doesNotMatch(answer.head, /access-control|vary/i, name);
        assert.equal(answer.headers["allow"], SIX, name);
        const problem = JSON.parse(answer.text) as Record<string, unknown>;
        const detail = `Found method "OPTIONS", expected one of ${SIX}`;
        assert.deepEqual(
          [problem["title"], problem["detail"]],
          ["Method not allowed", detail],
          name,
        );
      }
      for (const name of ["shop", "keyed", "inside", "plain", "disabled"]) {
        const { body } = await service.api("GET", `/webhook/${name}/refusal`);
        assert.doesNotMatch(JSON.stringify(body), /OPTIONS/, name);
      }
    },
  },
  {
    name: "every leg of a call has it: 303, 302, and the result",
    covers: ["D5.4 answers"],
    async run(service) {
      await using gates = await openGates();
      const path = `?${gates.query("leg")}`;
      const headers = { origin: SHOP };
      const first = await call(service, "gate", path, { headers });
      assertReadable(first, 303);
      await gates.arrived("leg");
      const second = await call(service, "gate", nextUrl(service, first).search, { headers });
      assertReadable(second, 302);
      gates.open("leg");
      // By then a leg may be over: the next one has the result.
      await endedExecution(service, executionId(first));
      const { search } = nextUrl(service, second);
      assertReadable(await call(service, "gate", search, { headers }), 200);
      const foreign = await call(service, "gate", search, { headers: { origin: FOREIGN } });
      assert.equal(foreign.status, 200, "CORS keeps nobody out");
      assert.doesNotMatch(foreign.head, /access-control|vary/i);
    },
  },
  {
    name: "every refusal of a webhook that is there has it",
    covers: ["D5.4 answers"],
    async run(service) {
      const refused = async (webhook: string, path: string, more: object, status: number) => {
        const own = (more as { headers?: object }).headers;
        const headers = { origin: SHOP, ...own };
        assertReadable(await call(service, webhook, path, { ...more, headers }), status);
        const without = await call(service, webhook, path, { ...more, headers: { ...own } });
        assert.equal(without.status, status);
        assert.doesNotMatch(without.head, /access-control|vary/i, `${status} without an origin`);
      };
      const post = (body: string, more = {}) => ({
        method: "POST",
        body,
        headers: { ...JSON_TYPE, ...more },
      });
      await refused("shop", "", post("{"), 400);
      await refused("shop", "", { ...post("a"), headers: { "content-type": "text/css" } }, 415);
      await refused("shop", "", post(`"${"x".repeat(3000)}"`), 413);
      await refused("shop", "?__wait_execution_id=none", {}, 404);
      await refused("keyed", "", post("{}"), 401);
      await refused("keyed", "", {}, 405);
      await refused("inside", "", {}, 403);
      await refused("login", "", {}, 401);
      await refused("login", "", { headers: { accept: "text/html" } }, 302);
      await refused("required", "?async", post("{}"), 400);
      const again = { "idempotency-key": "cors" };
      await call(service, "required", "?async", post("{}", again));
      await refused("required", "?async", post("[]", again), 422);
      await call(service, "rated", "?async");
      await refused("rated", "?async", {}, 429);
      const missing = await call(service, "unknown", "", { headers: { origin: SHOP } });
      const disabled = await call(service, "disabled", "", { headers: { origin: SHOP } });
      for (const answer of [missing, disabled]) {
        assert.equal(answer.status, 404);
        assert.doesNotMatch(answer.head, /access-control/i, "whether it is there is not told");
      }
    },
  },
  {
    name: "a listed origin with credentials uses its reader's login; no other does",
    covers: ["D5.4 login"],
    async run(service) {
      const cookie = `service-token=${service.token()}`;
      const from = (origin: string, more = {}) =>
        call(service, "login", "?async", {
          method: "POST",
          headers: { origin, cookie, "sec-fetch-site": "same-site", ...more },
        });
      const admitted = await from(SHOP);
      assert.equal(admitted.status, 201, admitted.text);
      assert.equal(admitted.headers["access-control-allow-credentials"], "true");
      assert.equal((await from(SHOP, { "sec-fetch-site": "cross-site" })).status, 201);
      for (const origin of [FOREIGN, "null", "*"]) assert.equal((await from(origin)).status, 403);
      const opaque = await from("null");
      assert.equal(opaque.headers["access-control-allow-origin"], "null");
      assert.equal(opaque.headers["access-control-allow-credentials"], undefined);
      const without = { method: "POST", headers: { origin: SHOP, cookie } };
      assert.equal((await call(service, "login-only", "?async", without)).status, 403);
    },
  },
  {
    name: "what is no member, or contradicts itself, is refused and named",
    covers: ["D5.4 members"],
    async run(service) {
      for (const [members, words] of WRONG) {
        const before = await service.api("GET", "/webhook/members");
        const answer = await service.api("PATCH", "/webhook/members", members);
        assert.equal(answer.status, 422, `${JSON.stringify(members)}: ${answer.text}`);
        const { errors } = answer.body as { errors: { field: string; message: string }[] };
        const said = errors.map(({ field, message }) => `${field}: ${message}`).join("; ");
        assert.ok(said.includes(words), `${JSON.stringify(members)}: ${said}`);
        const { body } = await service.api("GET", "/webhook/members");
        assert.deepEqual(body, before.body);
      }
      const set = { cors: { origins: [SHOP] }, response_headers: { "X-Own": "a" } };
      const { body } = await service.api("PATCH", "/webhook/members", set);
      const { cors, response_headers } = body as Record<string, unknown>;
      assert.deepEqual(response_headers, { "X-Own": "a" });
      assert.deepEqual(cors, {
        origins: [SHOP],
        credentials: false,
        headers: ["authorization", "content-type", "idempotency-key", "prefer", "x-service-token"],
        max_age_sec: 600,
      });
      const none = await service.api("PATCH", "/webhook/members", {
        cors: null,
        response_headers: {},
      });
      assert.deepEqual([none.status, (none.body as Record<string, unknown>)["cors"]], [200, null]);
    },
  },
  {
    name: "headers of an answer that was recorded before are not the flow's to say either",
    covers: ["D5.4 flow"],
    async run(service) {
      const headers = { ...PLAIN, "Access-Control-Allow-Origin": FOREIGN };
      const body = JSON.stringify({ steps: [response(200, headers)] });
      const started = await call(service, "later", "", {
        method: "POST",
        body,
        headers: JSON_TYPE,
      });
      const { search } = nextUrl(service, started);
      await endedExecution(service, executionId(started));
      const before = await call(service, "later", search, { headers: { origin: SHOP } });
      assert.equal(before.headers["access-control-allow-origin"], FOREIGN);
      await service.api("PATCH", "/webhook/later", { cors: { origins: [SHOP] } });
      const after = await call(service, "later", search, { headers: { origin: SHOP } });
      assertReadable(after, 200);
      assert.doesNotMatch(after.head, /foreign/);
      await service.api("PATCH", "/webhook/later", { cors: null });
    },
  },
  {
    name: "the webhook's headers are on answers of ended executions alone",
    covers: ["D5.4 response_headers"],
    async run(service) {
      const started = await call(service, "fixed");
      assert.equal(started.status, 303);
      assert.equal(started.headers["x-own"], undefined);
      await endedExecution(service, executionId(started));
      const ended = await call(service, "fixed", nextUrl(service, started).search);
      assert.equal(ended.headers["x-own"], "of the webhook");
      assert.equal(ended.headers["content-type"], "application/json; charset=utf-8");
      for (const path of ["?async", "?__wait_execution_id=none"])
        assert.equal((await call(service, "fixed", path)).headers["x-own"], undefined);
      assert.equal((await readExecution(service, executionId(started)))["response"], null);
    },
  },
];

function assertReadable(answer: Answer, status: number): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers["access-control-allow-origin"], SHOP, answer.head);
  assert.equal(answer.headers["access-control-expose-headers"], EXPOSED);
  assert.equal(answer.headers["vary"], "Origin");
}

const LONG = "x".repeat(17_000);
const MANY = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, "a"]));

const WRONG: readonly (readonly [members: object, words: string])[] = [
  [{ cors: {} }, "cors.origins: is required"],
  [{ cors: { origins: [] } }, "cors.origins: expected at least 1"],
  [{ cors: { origins: ["*"], credentials: true } }, "cors.credentials: expected false"],
  [{ cors: { origins: ["*", SHOP] } }, 'cors.origins: "*" stands alone'],
  [{ cors: { origins: [SHOP, SHOP] } }, "cors.origins: has an origin twice"],
  [{ cors: { origins: [`${SHOP}/`] } }, "cors.origins.0: expected an origin"],
  [{ cors: { origins: [SHOP, `${SHOP}:443`] } }, "cors.origins.1: expected an origin"],
  [{ cors: { origins: ["https://*.example"] } }, "cors.origins.0: expected an origin"],
  [{ cors: { origins: ["shop.example"] } }, "cors.origins.0: expected an origin"],
  [{ cors: { origins: Array.from({ length: 51 }, (_, n) => `https://a${n}.x`) } }, "at most 50"],
  [{ cors: { origins: [SHOP], headers: ["*"] } }, "cors.headers.0: expected the name"],
  [{ cors: { origins: [SHOP], headers: ["a b"] } }, "cors.headers.0: expected the name"],
  [{ cors: { origins: [SHOP], max_age_sec: 86_401 } }, "cors.max_age_sec: expected at most"],
  [{ cors: { origins: [SHOP], methods: ["GET"] } }, "cors.methods: unknown"],
  [{ response_headers: null }, "response_headers: expected an object"],
  [{ response_headers: { "X-A": ["a"] } }, "response_headers.X-A: expected a string"],
  [{ response_headers: { "x a": "a" } }, "response_headers.x a: "],
  [{ response_headers: { "x-a": "a\nb" } }, "response_headers.x-a: "],
  [{ response_headers: { "x-a": LONG } }, "response_headers.x-a: "],
  [{ response_headers: { "x-a": "1", "X-A": "2" } }, "response_headers.X-A: is there twice"],
  [{ response_headers: { Connection: "close" } }, "response_headers.Connection: cannot be set"],
  [{ response_headers: { "clear-site-data": "*" } }, "response_headers.clear-site-data: cannot"],
  [{ response_headers: { "x-request-id": "1" } }, "response_headers.x-request-id: is set by"],
  [{ response_headers: { "set-cookie": "service-token=1" } }, "response_headers.set-cookie: "],
  [{ response_headers: MANY }, "response_headers: expected at most 20"],
  [
    {
      cors: { origins: [SHOP] },
      response_headers: { "Access-Control-Allow-Origin": SHOP },
    },
    'response_headers.Access-Control-Allow-Origin: is what "cors" says',
  ],
];

const OF_FLOW: readonly CallRow[] = [
  {
    ...answering(
      "headers of the flow on origins are left out, and its log says so",
      ["D5.4 flow"],
      [
        response(200, {
          ...PLAIN,
          Vary: "Accept",
          "Access-Control-Allow-Origin": FOREIGN,
          "access-control-allow-credentials": "true",
        }),
      ],
      {
        status: 200,
        headers: { ...readable(SHOP), vary: "Accept, Origin" },
        log: /Header \\"Access-Control-Allow-Origin\\" was left out of the response: the webhook has/,
      },
      [FOREIGN, "allow-credentials"],
    ),
    headers: { origin: SHOP, ...JSON_TYPE },
  },
  {
    ...answering(
      "and so for whoever is not listed",
      ["D5.4 flow"],
      [response(200, { ...PLAIN, "access-control-allow-origin": "*" })],
      { status: 200, headers: { ...NO_CORS, vary: null } },
    ),
    headers: { origin: FOREIGN, ...JSON_TYPE },
  },
  {
    ...answering(
      "without cors of the webhook they are the flow's",
      ["D5.4 flow"],
      [response(200, { ...PLAIN, "access-control-allow-origin": "*" })],
      { status: 200, headers: { ...NO_CORS, "access-control-allow-origin": "*", vary: null } },
    ),
    webhook: "answer-plain",
    headers: { origin: FOREIGN, ...JSON_TYPE },
  },
];

const FIXED_HEADERS = {
  "X-Own": "of the webhook",
  "cache-control": "max-age=60",
  "content-type": "text/html",
  "content-security-policy": "default-src 'none'",
};

function fixed(
  name: string,
  steps: readonly object[],
  expect: CallRow["expect"],
  webhook = "fixed-answer",
): CallRow {
  return { ...answering(name, ["D5.4 response_headers"], steps, expect), webhook };
}

const FIXED: readonly CallRow[] = [
  fixed("headers of the webhook beside those of a result", [], {
    status: 200,
    headers: {
      "x-own": "of the webhook",
      "cache-control": "no-store",
      "content-type": "application/json; charset=utf-8",
      "content-security-policy": "default-src 'none'",
    },
  }),
  fixed("headers of the webhook on a failure", [{ fail: "on purpose" }], {
    status: 500,
    headers: {
      "x-own": "of the webhook",
      "content-type": "text/plain; charset=utf-8",
      "content-security-policy": /^sandbox [^,]*, default-src 'none'$/,
    },
  }),
  fixed("headers of the webhook where the flow has none", [response(200, {})], {
    status: 200,
    headers: {
      "x-own": "of the webhook",
      "cache-control": "max-age=60",
      "content-type": "text/html",
      "content-security-policy": /^sandbox [^,]*, default-src 'none'$/,
    },
  }),
  fixed(
    "what the flow has set stays",
    [
      response(200, {
        ...PLAIN,
        "x-own": "of the flow",
        "Cache-Control": "private",
        "content-security-policy": "img-src 'none'",
      }),
    ],
    {
      status: 200,
      headers: {
        "x-own": "of the flow",
        "cache-control": "private",
        "content-type": "text/plain",
        "content-security-policy": /^img-src 'none', sandbox [^,]*$/,
      },
    },
  ),
];

const origins = (...listed: string[]) => ({ origins: listed });

async function noneStarted(service: Service): Promise<void> {
  assert.equal(await countExecutions(service, "frames"), 0, "a preflight starts nothing");
}

async function readByAny(service: Service): Promise<void> {
  const headers = { origin: FOREIGN };
  const first = await call(service, "any", "", { headers });
  // Otherwise a leg may be over before the flow has ended.
  await endedExecution(service, executionId(first));
  const last = await call(service, "any", nextUrl(service, first).search, { headers });
  const expected = { ...readable("*"), vary: "Origin" };
  assertAnswer(last, [first, last], { status: 200, chain: [303, 200], headers: expected });
  assertForbidden([first, last], [service.token(), ADMIN_PASSWORD]);
}

export const CORS: Group = {
  name: "cors",
  flows: ["echo", "answer", "gate"],
  config: { WAIT_POLL_WINDOW_SEC: 1 },
  webhooks: {
    shop: { flow: "echo", cors: origins(SHOP, OTHER), max_body_bytes: 2000 },
    any: { flow: "echo", cors: origins("*") },
    frames: { flow: "echo", cors: origins("null") },
    keyed: {
      flow: "echo",
      key: KEY,
      methods: ["POST"],
      cors: { ...origins(SHOP), headers: ["x-own"], max_age_sec: 0 },
    },
    login: {
      flow: "echo",
      require_login: true,
      cors: { ...origins(SHOP, "null"), credentials: true },
    },
    "login-only": { flow: "echo", require_login: true, cors: origins(SHOP) },
    inside: { flow: "echo", allowed_addresses: ["192.0.2.1"], cors: origins(SHOP) },
    disabled: { flow: "echo", is_enabled: false, cors: origins(SHOP) },
    plain: { flow: "echo" },
    required: {
      flow: "echo",
      cors: origins(SHOP),
      idempotency: { from: "header:idempotency-key", required: true },
    },
    rated: { flow: "echo", cors: origins(SHOP), limits: { rate: { calls: 1, per_sec: 86_400 } } },
    gate: { flow: "gate", cors: origins(SHOP) },
    answer: { flow: "answer", cors: origins(SHOP), sync_mode: "hold" },
    "answer-plain": { flow: "answer", sync_mode: "hold" },
    later: { flow: "answer" },
    members: { flow: "echo" },
    fixed: { flow: "echo", response_headers: FIXED_HEADERS },
    "fixed-answer": { flow: "answer", sync_mode: "hold", response_headers: FIXED_HEADERS },
  },
  rows: [
    ...ADMITTED,
    { name: "a preflight is no call", covers: ["D5.4 preflight"], run: noneStarted },
    ...STORIES,
    ...OF_FLOW,
    ...FIXED,
    { name: "any origin reads the answer", covers: ["D5.4 answers"], run: readByAny },
  ],
};
