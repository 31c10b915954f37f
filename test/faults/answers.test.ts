import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { openTestService, type TestService } from "./test-service.ts";
import { CASES, figure, SEED } from "./sizes.ts";
import { find, toRequest, Wire, type WireAnswer } from "./wire.ts";

/** Whatever a flow answers: the caller gets one well-formed answer, and the connection lives on. */

const TARGET = "/api/latest/webhook/answer/call";
const REFUSED = /^ENDED_ERROR: webhook_response takes/;
const WITHOUT_BODY = [204, 205, 304];

/** Left out of a response: they belong to the connection, to the origin, or to the service. */
const NOT_A_FLOWS =
  /^(connection|transfer-encoding|content-length|keep-alive|te|trailer|upgrade|proxy-.*|clear-site-data|strict-transport-security|alt-svc|service-worker-allowed|set-cookie)$/i;

describe("answers of flows", () => {
  let service: TestService;
  let wire: Wire;
  before(async () => {
    service = await openTestService({ config: { SYNC_MODE: "hold" }, flows: ["answer"] });
    await service.createWebhook("answer", "answer", { is_productive: true });
    wire = new Wire(service.origin);
  });
  after(async () => {
    wire.close();
    await service[Symbol.asyncDispose]();
  });

  function answerWith(response: unknown): Promise<WireAnswer> {
    const body = Buffer.from(JSON.stringify({ response }));
    const headers = [["Content-Type", "application/json"]] as const;
    return wire.exchange(toRequest("POST", TARGET, headers, body));
  }

  test("every status, with and without a body, on one connection", async () => {
    for (let status = 100; status <= 620; status += 1) {
      for (const body of ["", "text"]) {
        const answer = await answerWith({ status, headers: { "x-own": "1" }, body });
        const isValid = status >= 200 && status <= 599;
        assert.equal(answer.status, isValid ? status : 500, `status ${status}`);
        if (!isValid) {
          assert.match(answer.body.toString(), REFUSED);
          continue;
        }
        assert.equal(find(answer.headers, "x-own"), "1");
        assert.equal(answer.body.toString(), WITHOUT_BODY.includes(status) ? "" : body);
      }
    }
    figure("answers: statuses", 521 * 2);
    figure("answers: connections used for them", wire.connections);
    assert.equal(wire.connections, 1);
  });

  test("valid answers come as they were given", async () => {
    const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/);
    const value = fc.stringMatching(/^[!-~\x80-\xff]([\t -~\x80-\xff]{0,40}[!-~\x80-\xff])?$/);
    const response = fc.record({
      status: fc.integer({ min: 200, max: 599 }),
      headers: fc.dictionary(token, fc.oneof(value, fc.constant("")), { maxKeys: 6 }),
      body: fc.oneof(fc.string(), fc.string({ unit: "binary", maxLength: 400 })),
    });
    const property = fc.asyncProperty(response, async (given) => {
      const answer = await answerWith(given);
      assert.equal(answer.status, given.status, answer.body.toString());
      for (const [name, text] of Object.entries(given.headers)) {
        if (NOT_A_FLOWS.test(name) || isRepeated(given.headers, name)) continue;
        const found = answer.headers.filter(([other]) => other === name.toLowerCase());
        assert.ok(
          found.some(([, other]) => other === text.trim()),
          `header "${name}"`,
        );
      }
      const expected = WITHOUT_BODY.includes(given.status) ? "" : given.body;
      assert.equal(answer.body.toString(), Buffer.from(expected).toString());
    });
    await fc.assert(property, { seed: SEED, numRuns: CASES });
    await service.assertAlive();
    figure("answers: valid ones, generated", CASES);
    figure("answers: seed", SEED);
  });

  test("anything else is refused, and harms nobody", async () => {
    const odd = fc.oneof(fc.jsonValue(), fc.string({ unit: "binary" }), fc.integer());
    const response = fc.oneof(
      odd,
      fc.record(
        {
          status: fc.oneof(fc.constantFrom(200, 204, 304, 302), odd),
          headers: fc.oneof(fc.dictionary(fc.string({ unit: "binary" }), odd), odd),
          body: fc.oneof(fc.string(), odd),
          body_encoding: fc.oneof(fc.constant("base64"), odd),
        },
        { requiredKeys: [] },
      ),
    );
    let accepted = 0;
    const property = fc.asyncProperty(response, async (given) => {
      const answer = await answerWith(given);
      assert.ok(answer.status >= 200 && answer.status <= 599);
      if (!REFUSED.test(answer.body.toString())) accepted += 1;
      assert.equal(answer.isOpen, true, "the connection lives on");
    });
    await fc.assert(property, { seed: SEED, numRuns: CASES });
    await service.assertAlive();
    figure("answers: odd ones, generated", CASES);
    figure("answers: of them sent", accepted);
  });

  test("answers that would split, smuggle or close", async () => {
    const hostile: readonly unknown[] = [
      { "x-a": "1\r\nx-injected: 1" },
      { "x-a\r\nx-injected": "1" },
      { "x-a": "1\nx-injected: 1" },
      { "x-a": "\0" },
      { "x-a": "\u2028" },
      { "": "1" },
      { "transfer-encoding": "chunked" },
      { "Transfer-Encoding": "gzip, chunked" },
      { "content-length": "1000000" },
      { "Content-Length": "0" },
      { connection: "close" },
      { connection: "upgrade", upgrade: "websocket" },
      { trailer: "x-a", te: "trailers" },
      { "keep-alive": "timeout=0" },
      { "proxy-connection": "close" },
      { "x-many": Array.from({ length: 50 }, () => "v") },
      { "x-long": "v".repeat(8000) },
      { "flowhook-execution-id": "forged" },
      { "set-cookie": "service-token=forged; Path=/" },
      { "content-type": "text/html\r\n\r\n<script>" },
      { date: "never" },
      { "content-encoding": "gzip" },
      { "x-emoji": "\ud83d\ude00" },
    ];
    for (const headers of hostile) {
      const answer = await answerWith({ status: 200, headers, body: "text" });
      const shown = JSON.stringify(headers).slice(0, 100);
      assert.equal(find(answer.headers, "x-injected"), undefined, shown);
      assert.equal(answer.isOpen, true, shown);
      const ids = answer.headers.filter(([name]) => name === "flowhook-execution-id");
      assert.ok(!ids.some(([, id]) => id === "forged"), shown);
      assert.ok(!find(answer.headers, "set-cookie")?.startsWith("service-token"), shown);
      const text = answer.body.toString();
      const isTold = REFUSED.test(text) || text.startsWith("ENDED_ERROR: Cannot send");
      assert.ok(text === "text" || isTold, `${shown}: ${text}`);
    }
    await service.assertAlive();
  });
});

function isRepeated(headers: Readonly<Record<string, string>>, name: string): boolean {
  const same = Object.keys(headers).filter((key) => key.toLowerCase() === name.toLowerCase());
  return same.length > 1;
}
