import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { openTestService, type TestService } from "./test-service.ts";
import { parseExactly } from "../../src/shared/parse-exactly.ts";
import { CASES, figure, SEED } from "./sizes.ts";
import { toRequest, Wire, type WireAnswer } from "./wire.ts";

/**
 * Requests that nobody would send on purpose: each gets one well-formed answer that is no fault
 * of the service (500), and what a flow receives is what was sent.
 */

const CALL = "/api/latest/webhook/echo/call";

/** Anything that can stand in a request's target: no blanks, no control characters. */
const TARGET_PART = fc.oneof(
  fc.stringMatching(/^[!-~]{0,30}$/),
  fc.webQueryParameters().map((query) => `?${query}`),
  fc.constantFrom("/..", "/.", "//", "/%2e%2e", "/%2F", "/%00", "/%", "/%zz", "?", "#", "\\", ";"),
  fc.constantFrom(
    "?async",
    "?key=",
    "?key=a&key=b",
    "?__wait_execution_id=",
    "?__proto__=1",
    "?&&&==",
  ),
  fc.constantFrom("?__wait_execution_id=00000000-0000-7000-8000-000000000000", "?async=%"),
  fc.stringMatching(/^[\x80-\xff]{1,5}$/),
);
const TARGET = fc.array(TARGET_PART, { maxLength: 4 }).map((parts) => parts.join(""));

const FIELD_NAME = fc.oneof(
  fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,15}$/),
  fc.constantFrom("Cookie", "Authorization", "X-Service-Token", "Accept", "Origin", "Referer"),
  fc.constantFrom("__proto__", "constructor", "X-Forwarded-For", "X-Forwarded-Proto", "If-Match"),
  fc.constantFrom("Range", "Sec-Fetch-Site", "traceparent", "X-Request-Id", "Last-Event-ID"),
);
const FIELD_VALUE = fc.stringMatching(/^[\t -~\x80-\xff]{0,60}$/);
/** Not those that say where a message ends: the protocol's tests have them. */
const FIELDS = fc
  .array(fc.tuple(FIELD_NAME, FIELD_VALUE), { maxLength: 8 })
  .map((pairs) =>
    pairs.filter(
      ([name]) =>
        !/^(content-.*|transfer-.*|host|connection|expect|upgrade|te|trailer|keep-alive)$/i.test(
          name,
        ),
    ),
  );

const TYPES = fc.constantFrom(
  "application/json",
  "application/json; charset=utf-8",
  "application/vnd.x+json",
  "application/yaml",
  "text/yaml",
  "application/x-www-form-urlencoded",
  "text/plain",
  "application/json; charset=latin1",
  "multipart/form-data; boundary=x",
  "",
  ";",
);

describe("requests", () => {
  let service: TestService;
  let wire: Wire;
  let turns = 0;
  const seen = new Map<number, number>();
  before(async () => {
    service = await openTestService({
      config: { SYNC_MODE: "hold", MAX_BODY_BYTES: 100_000 },
      flows: ["echo"],
    });
    await service.createWebhook("echo", "echo", { is_productive: true });
    wire = new Wire(service.origin);
  });
  after(async () => {
    wire.close();
    const counts = [...seen].toSorted(([a], [b]) => a - b).map((pair) => pair.join(" x "));
    figure("requests: seed", SEED);
    figure("requests: statuses", counts.join(", "));
    await service[Symbol.asyncDispose]();
  });

  async function exchange(bytes: Buffer, isHead = false): Promise<WireAnswer> {
    const answer = await wire.exchange(bytes, isHead);
    seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
    assert.notEqual(answer.status, 500, answer.body.toString());
    assert.ok(answer.status >= 200 && answer.status < 504);
    return answer;
  }

  /** The same connection still gives right answers: looked at every fourth time. */
  async function assertInStep(): Promise<void> {
    if ((turns += 1) % 4 !== 0) return;
    const { status, body } = await wire.exchange(toRequest("GET", `${CALL}/in/step`));
    assert.equal(status, 200);
    assert.equal((JSON.parse(body.toString()) as { path: string }).path, "in/step");
  }

  test("targets of a call", async () => {
    const method = fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD");
    const property = fc.asyncProperty(method, TARGET, async (name, rest) => {
      const answer = await exchange(toRequest(name, `${CALL}${rest}`), name === "HEAD");
      if (answer.status === 200 && name !== "HEAD") assertPath(answer, rest);
      await assertInStep();
    });
    await fc.assert(property, { seed: SEED, numRuns: CASES });
    await service.assertAlive();
    figure("requests: targets of a call, generated", CASES);
  });

  test("targets of everything else", async () => {
    const start = fc.constantFrom(
      "/",
      "/ui/",
      "/api/latest/",
      "/api/latest/execution/",
      "/api/latest/webhook/",
      "/api/latest/docs/",
      "/health/",
    );
    const method = fc.constantFrom("GET", "POST", "DELETE", "OPTIONS", "HEAD", "TRACE", "PROPFIND");
    const property = fc.asyncProperty(method, start, TARGET, async (name, path, rest) => {
      await exchange(toRequest(name, path + rest), name === "HEAD");
    });
    await fc.assert(property, { seed: SEED, numRuns: CASES });
    await service.assertAlive();
    figure("requests: targets of everything else, generated", CASES);
  });

  test("headers", async () => {
    const property = fc.asyncProperty(FIELDS, async (fields) => {
      const answer = await exchange(toRequest("GET", CALL, fields));
      if (answer.status === 200) assertHeaders(answer, fields);
      await assertInStep();
    });
    await fc.assert(property, { seed: SEED, numRuns: CASES });
    await service.assertAlive();
    figure("requests: headers, generated", CASES);
  });

  test("JSON bodies arrive as they were sent", async () => {
    const value = fc.oneof(fc.jsonValue({ maxDepth: 6 }), protoValue());
    const property = fc.asyncProperty(value, async (given) => {
      const text = JSON.stringify(given);
      const type = [["Content-Type", "application/json"]] as const;
      const answer = await exchange(toRequest("POST", CALL, type, Buffer.from(text)));
      assert.equal(answer.status, 200, answer.body.toString());
      const { json } = parseExactly(answer.body.toString()) as { json: unknown };
      assert.equal(JSON.stringify(json), JSON.stringify(parseExactly(text)));
    });
    // The shapes that two callers' bodies share, in which the runtime mixes names up.
    const examples = ["\\", "\n", '"'].map((name): [unknown] => [{ x: 0, [name]: 1 }]);
    await fc.assert(property, { seed: SEED, numRuns: CASES, examples });
    figure("requests: JSON bodies, generated", CASES);
  });

  test("bodies of any type and any bytes", async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((part) => Buffer.from(part)),
      fc.string({ unit: "binary", maxLength: 200 }).map((text) => Buffer.from(text)),
      YAML_TEXT.map((text) => Buffer.from(text)),
    );
    const property = fc.asyncProperty(TYPES, bytes, fc.boolean(), async (type, body, chunked) => {
      const fields: [string, string][] = type === "" ? [] : [["Content-Type", type]];
      const request = chunked
        ? toRequest("POST", CALL, [...fields, ["Transfer-Encoding", "chunked"]], toChunks(body))
        : toRequest("POST", CALL, fields, body);
      await exchange(request);
      await assertInStep();
    });
    await fc.assert(property, { seed: SEED, numRuns: CASES });
    await service.assertAlive();
    figure("requests: bodies, generated", CASES);
  });
});

/** Pieces of YAML in any order: anchors, aliases, tags, merges, documents, indentation. */
const YAML_TEXT = fc
  .array(
    fc.constantFrom(
      "a: ",
      "&x ",
      "*x",
      "!!js/function ",
      "!!binary ",
      "<<: *x",
      "- ",
      "\n",
      "  ",
      "---\n",
      "...\n",
      "{",
      "}",
      "[",
      "]",
      ",",
      ": ",
      "? ",
      "|\n",
      ">-\n",
      '"',
      "'",
      "%YAML 1.2\n",
      "#c\n",
      "\t",
      "__proto__: 1\n",
      "0x1F",
      ".inf",
      "~",
      "2026-01-01",
      "null",
      "\u0000",
      "\ufeff",
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(""));

function protoValue(): fc.Arbitrary<unknown> {
  const name = fc.constantFrom("__proto__", "constructor", "toString", "key", "", "\u0000", "a");
  return fc.array(fc.tuple(name, fc.jsonValue({ maxDepth: 2 })), { maxLength: 5 }).map((pairs) => {
    const members = new Map(pairs.map(([key, value]) => [key, JSON.stringify(value)]));
    const text = [...members].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",");
    return parseExactly(`{${text}}`);
  });
}

function toChunks(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += 7) {
    const part = body.subarray(at, at + 7);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n"));
  }
  return Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]);
}

/** `path` is the text after `/call/`, neither decoded nor resolved. */
function assertPath(answer: WireAnswer, rest: string): void {
  const { path } = JSON.parse(answer.body.toString()) as { path: string | null };
  const sent = rest.split(/[?#]/, 1)[0] ?? "";
  if (path === null) assert.ok(sent === "" || sent === "/", `no path for "${rest}"`);
  else assert.equal(`/${path}`, sent);
}

function assertHeaders(answer: WireAnswer, fields: readonly (readonly [string, string])[]): void {
  const { headers } = JSON.parse(answer.body.toString()) as { headers: Record<string, string> };
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    if (/^(x-service-token|cookie|authorization)$/.test(lower)) continue;
    const all = fields.filter(([other]) => other.toLowerCase() === lower);
    if (all.length > 1) continue;
    assert.ok(Object.hasOwn(headers, lower), `header "${name}" is missing`);
    assert.equal(headers[lower], value.replace(/^[ \t]+|[ \t]+$/g, ""));
  }
}
