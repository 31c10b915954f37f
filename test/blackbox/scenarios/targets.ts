import assert from "node:assert/strict";
import { parseRaw, raw, send, type Answer } from "../client.ts";
import { assertProblem } from "../expectation.ts";
import {
  callTarget,
  countExecutions,
  endedExecution,
  executionId,
  type Group,
  type StoryRow,
} from "../scenario.ts";
import type { Service } from "../service.ts";

/** A request as bytes: the lines are joined and the connection closes after the answer. */
function lines(...parts: readonly string[]): string {
  return [...parts, "Connection: close", "", ""].join("\r\n");
}

async function rawAnswer(service: Service, ...parts: readonly string[]): Promise<Answer> {
  return parseRaw(await raw(service.origin, lines(...parts)), parts[0] ?? "");
}

/** A raw request target that must be a call of `a` with this path. */
function callsA(name: string, afterCall: string, path: string): StoryRow {
  return {
    name,
    covers: ["C6 as sent", "C6 routing"],
    async run(service) {
      const before = await countExecutions(service, "b");
      const target = callTarget(service, "a", afterCall);
      const answer = await rawAnswer(service, `POST ${target}?async HTTP/1.1`, "Host: x");
      assert.equal(answer.status, 201, answer.text);
      const record = await endedExecution(service, executionId(answer));
      assert.equal(record["webhook"], "a");
      assert.equal((record["input_value"] as Record<string, unknown>)["path"], path);
      assert.equal(await countExecutions(service, "b"), before);
    },
  };
}

/** Bytes that must be answered with one of these statuses, and record nothing. */
function refuses(
  name: string,
  covers: StoryRow["covers"],
  status: readonly number[],
  request: (service: Service) => readonly string[],
): StoryRow {
  return {
    name,
    covers,
    async run(service) {
      const before = await countExecutions(service, "a");
      const answer = await rawAnswer(service, ...request(service));
      assert.ok(status.includes(answer.status), `${answer.status}: ${answer.text}`);
      assert.equal(await countExecutions(service, "a"), before, "nothing is recorded");
      assert.equal(answer.headers["flowhook-execution-id"], undefined);
      await service.assertAlive();
    },
  };
}

const OTHER_METHODS = [
  "OPTIONS",
  "TRACE",
  "PROPFIND",
  "LINK",
  "SEARCH",
  "QUERY",
  "CONNECT",
  "FOO",
  "get",
];

function methodRow(method: string): StoryRow {
  return {
    name: `${method} is not allowed`,
    covers: ["C15 methods", "C12 no-store"],
    async run(service) {
      const before = await countExecutions(service, "a");
      const target = callTarget(service, "a", "/x");
      const answer = await rawAnswer(service, `${method} ${target} HTTP/1.1`, "Host: x");
      assert.equal(answer.status, 405, answer.text);
      const allowed = (answer.headers["allow"] ?? "").split(/\s*,\s*/).sort();
      assert.deepEqual(allowed, ["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"]);
      assert.equal(answer.headers["cache-control"], "no-store");
      assertProblem(answer, { title: "Method not allowed", instance: target });
      assert.equal(await countExecutions(service, "a"), before);
    },
  };
}

export const TARGETS: Group = {
  name: "targets",
  flows: ["echo"],
  webhooks: { a: { flow: "echo" }, b: { flow: "echo" } },
  rows: [
    callsA("dot segments are not resolved", "/../../b/call", "../../b/call"),
    callsA(
      "encoded dot segments are not resolved",
      "/%2e%2e/%2E%2E/b/call",
      "%2e%2e/%2E%2E/b/call",
    ),
    callsA("dot segments to the management API", "/../../../execution", "../../../execution"),
    callsA("a dot", "/.", "."),
    callsA("two dots at the end", "/x/..", "x/.."),
    callsA("an encoded slash", "/..%2f..%2fb%2Fcall", "..%2f..%2fb%2Fcall"),
    callsA("slashes only", "///", "//"),
    callsA("text that looks like a URL", "/http://example.test/x", "http://example.test/x"),
    callsA("bytes that URL parsers would encode", '/{a}|"<b>^`', '{a}|"<b>^`'),
    {
      name: "a path beyond ASCII arrives as it was sent",
      covers: ["C6 as sent"],
      async run(service) {
        const head = lines(`POST ${callTarget(service, "a", "/ü?async")} HTTP/1.1`, "Host: x");
        const answer = parseRaw(await raw(service.origin, Buffer.from(head, "utf8")), "");
        if (answer.status === 400) return;
        const record = await endedExecution(service, executionId(answer));
        assert.equal((record["input_value"] as Record<string, unknown>)["path"], "ü");
      },
    },
    refuses("a raw NUL", ["C6 NUL"], [400], (service) => [
      `POST ${callTarget(service, "a", "/x\0y?async")} HTTP/1.1`,
      "Host: x",
    ]),
    refuses("a raw backslash", ["C6 backslash"], [400], (service) => [
      `POST ${callTarget(service, "a", "/x\\y?async")} HTTP/1.1`,
      "Host: x",
    ]),
    refuses("two Host headers", ["C15 two hosts"], [400], (service) => [
      `POST ${callTarget(service, "a", "?async")} HTTP/1.1`,
      "Host: x",
      "Host: y",
    ]),
    refuses("two equal Host headers", ["C15 two hosts"], [400], (service) => [
      `POST ${callTarget(service, "a", "?async")} HTTP/1.1`,
      "Host: x",
      "host: x",
    ]),
    refuses("an absolute-form target", ["C15 absolute-form"], [400], (service) => [
      `POST http://x${callTarget(service, "a", "?async")} HTTP/1.1`,
      "Host: x",
    ]),
    refuses(
      "an absolute-form target of another scheme",
      ["C15 absolute-form"],
      [400],
      (service) => [`POST HTTPS://x${callTarget(service, "a", "?async")} HTTP/1.1`, "Host: x"],
    ),
    refuses("no Host header", ["C1 target first"], [400], (service) => [
      `POST ${callTarget(service, "a", "?async")} HTTP/1.1`,
    ]),
    refuses("a very long target", ["C1 target first"], [400, 414, 431], (service) => [
      `POST ${callTarget(service, "a", `/${"x".repeat(100_000)}`)} HTTP/1.1`,
      "Host: x",
    ]),
    refuses("an asterisk", ["C1 target first"], [400, 404, 405], () => [
      "OPTIONS * HTTP/1.1",
      "Host: x",
    ]),
    refuses("no slash at the start", ["C1 target first"], [400, 404], () => [
      "GET api/latest/webhook/a/call HTTP/1.1",
      "Host: x",
    ]),
    refuses("/call with more letters is another path", ["4.1 path"], [404], (service) => [
      `POST ${callTarget(service, "a", "x?async")} HTTP/1.1`,
      "Host: x",
    ]),
    refuses("an encoded /call is another path", ["4.1 path"], [400, 404, 405], () => [
      "POST /api/latest/webhook/a/%63all?async HTTP/1.1",
      "Host: x",
    ]),
    refuses(
      "dot segments before the name are not resolved",
      ["C6 routing"],
      [400, 404, 405],
      () => ["POST /api/latest/webhook/b/../a/call?async HTTP/1.1", "Host: x"],
    ),
    refuses("another version of the API", ["4.1 path"], [404], () => [
      "POST /api/v1/webhook/a/call?async HTTP/1.1",
      "Host: x",
    ]),
    ...OTHER_METHODS.map(methodRow),
    {
      name: "a method is refused before the webhook is looked up",
      covers: ["C1 target first"],
      async run(service) {
        const target = callTarget(service, "unknown-name");
        const answer = await rawAnswer(service, `OPTIONS ${target} HTTP/1.1`, "Host: x");
        assert.equal(answer.status, 405);
        assertProblem(answer, { title: "Method not allowed" });
      },
    },
    {
      name: "repeated headers are joined",
      covers: ["C6 headers"],
      async run(service) {
        const answer = await rawAnswer(
          service,
          `POST ${callTarget(service, "a", "?async")} HTTP/1.1`,
          "Host: one.example",
          "X-Twice: 1",
          "x-twice: 2",
          "Cookie: a=1",
          "Cookie: b=2",
          "User-Agent: a",
          "__proto__: p",
        );
        const record = await endedExecution(service, executionId(answer));
        const { headers } = record["input_value"] as { headers: Record<string, string> };
        assert.equal(headers["x-twice"], "1, 2");
        assert.equal(headers["cookie"], "a=1; b=2", "as one field has them");
        assert.equal(headers["host"], "one.example");
        assert.ok(Object.hasOwn(headers, "__proto__"), "a header of this name is passed");
        const text = (await service.api("GET", `/execution/${executionId(answer)}`)).text;
        assert.match(text, /"__proto__":\s*"p"/);
      },
    },
    {
      name: "the host of a redirect is never that of the request",
      covers: ["C8 relative"],
      async run(service) {
        const answer = await send(service.origin, {
          method: "POST",
          target: callTarget(service, "a"),
          headers: { host: "evil.example", "x-forwarded-host": "evil.example" },
        });
        assert.equal(answer.status, 303);
        assert.ok(!answer.head.includes("evil.example"), answer.head);
      },
    },
    {
      name: "HTTP/1.0 gets its answer too",
      covers: ["4.1 path"],
      async run(service) {
        const answer = await rawAnswer(
          service,
          `GET ${callTarget(service, "a", "?async")} HTTP/1.0`,
          "Host: x",
        );
        assert.equal(answer.status, 201);
      },
    },
    {
      name: "a body too large is refused before it has come",
      covers: ["C3 too large"],
      async run(service) {
        const answer = await rawAnswer(
          service,
          `POST ${callTarget(service, "a", "?async")} HTTP/1.1`,
          "Host: x",
          "Content-Type: application/json",
          "Content-Length: 99999999999",
        );
        assert.equal(answer.status, 413);
      },
    },
    {
      name: "a sub-path whose last segment is dots is redirected to itself",
      covers: ["C8 relative"],
      async run(service) {
        const target = callTarget(service, "a", "/x/..?k=v");
        const answer = await rawAnswer(service, `GET ${target} HTTP/1.1`, "Host: x");
        assert.equal(answer.status, 303, answer.text);
        const record = await endedExecution(service, executionId(answer));
        assert.equal((record["input_value"] as Record<string, unknown>)["path"], "x/..");
      },
    },
  ],
};
