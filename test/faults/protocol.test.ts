import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { raw, send, type Origin } from "../blackbox/client.ts";
import { poll } from "../blackbox/scenario.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { HUNG_MS } from "../hung.ts";
import { reset } from "../reset.ts";
import { openTestService, processFigure, type TestService } from "./test-service.ts";
import { CLIENTS, figure, openRandom, SEED } from "./sizes.ts";
import { toRequest, Wire } from "./wire.ts";

/** Clients that are slow, silent, gone, or many, and requests that leave room for a guess. */

const CALL = "/api/latest/webhook/echo/call";

interface Ambiguous {
  readonly name: string;
  readonly bytes: string;
  readonly expect: RegExp;
}

const HOST = "Host: a\r\n";

const AMBIGUOUS: readonly Ambiguous[] = [
  {
    name: "two Host headers",
    bytes: `GET ${CALL} HTTP/1.1\r\n${HOST}Host: b\r\n\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  { name: "no Host header", bytes: `GET ${CALL} HTTP/1.1\r\n\r\n`, expect: /^HTTP\/1.1 400/ },
  {
    name: "an absolute target",
    bytes: `GET http://a${CALL} HTTP/1.1\r\n${HOST}\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "an authority as target",
    bytes: `CONNECT a:80 HTTP/1.1\r\n${HOST}\r\n`,
    expect: /^(HTTP\/1.1 4\d\d.*|)$/s,
  },
  {
    name: "two lengths",
    bytes: `POST ${CALL} HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "length and chunks",
    bytes: `POST ${CALL} HTTP/1.1\r\n${HOST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "a negative length",
    bytes: `POST ${CALL} HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "a length that is no number",
    bytes: `POST ${CALL} HTTP/1.1\r\n${HOST}Content-Length: 1e2\r\n\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "an unknown transfer encoding",
    bytes: `POST ${CALL} HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip\r\n\r\n`,
    expect: /^HTTP\/1.1 (400|501)/,
  },
  {
    name: "a transfer encoding before the chunks",
    bytes: `POST ${CALL} HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "chunks of HTTP/1.0",
    bytes: `POST ${CALL} HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "a fragment behind the query",
    bytes: `GET ${CALL}?a=1#b HTTP/1.1\r\n${HOST}\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "a bad size of a chunk",
    bytes: `POST ${CALL} HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "a header over two lines",
    bytes: `GET ${CALL} HTTP/1.1\r\n${HOST}X-A: 1\r\n 2\r\n\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "a blank before the colon",
    bytes: `GET ${CALL} HTTP/1.1\r\n${HOST}X-A : 1\r\n\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "a NUL in a header",
    bytes: `GET ${CALL} HTTP/1.1\r\n${HOST}X-A: \0\r\n\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "line feeds alone",
    bytes: `GET ${CALL} HTTP/1.1\nHost: a\n\n`,
    expect: /^HTTP\/1.1 (400|2|3)/,
  },
  {
    name: "headers that are too long",
    bytes: `GET ${CALL} HTTP/1.1\r\n${HOST}X-A: ${"a".repeat(20_000)}\r\n\r\n`,
    expect: /^HTTP\/1.1 431/,
  },
  {
    name: "too many headers",
    bytes: `GET ${CALL} HTTP/1.1\r\n${HOST}${"X: 1\r\n".repeat(4000)}\r\n`,
    expect: /^HTTP\/1.1 4(00|31)/,
  },
  {
    name: "a target that is too long",
    bytes: `GET ${CALL}/${"a".repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`,
    expect: /^HTTP\/1.1 (414|431)/,
  },
  {
    name: "another version",
    bytes: `GET ${CALL} HTTP/3.0\r\n${HOST}\r\n`,
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "the first line of HTTP/2",
    bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    expect: /^(HTTP\/1.1 400.*|)$/s,
  },
  {
    name: "a handshake of TLS",
    bytes: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    expect: /^HTTP\/1.1 400/,
  },
  {
    name: "an upgrade",
    bytes: `GET ${CALL} HTTP/1.1\r\n${HOST}Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
    expect: /^HTTP\/1.1 (303|400|426)/,
  },
  {
    name: "an unknown expectation",
    bytes: `POST ${CALL} HTTP/1.1\r\n${HOST}Expect: miracle\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    expect: /^HTTP\/1.1 417/,
  },
];

/** Requests of one connection, and how many of them are under way at most. */
const PIPED = 400;

/** Answers of 9 MB: 256 MB hold 28 of them. */
const UNREAD = 34;

/** Bytes above 127 go over the wire as they are. */
const NO_HOSTS: readonly string[] = [
  "",
  " ",
  "a, b",
  "a,b",
  "a b",
  "a b<c>",
  "a;b",
  "a/b",
  "a?b",
  "a#b",
  "a@b",
  "user:password@a",
  "http://a",
  "a:",
  "a:b",
  "a:-1",
  "a:65536",
  "a:99999",
  "a:1:2",
  "::1",
  "[::1",
  "::1]",
  "[::g]",
  "[]",
  "[::1]a",
  "[fe80::1%25eth0]",
  "1.2.3.4.5",
  "256.256.256.256",
  "a%2fb",
  "%61",
  "a\\b",
  "a|b",
  "a^b",
  "<script>",
  "\x80",
  "\xe9",
  "\xff\xfe",
  "*",
];

const HOSTS: readonly string[] = [
  "a",
  "a.b.c",
  "A.Example",
  "a:1",
  "a:080",
  "a:65535",
  "under_score.test",
  "xn--4ca.test",
  "127.0.0.1",
  "127.0.0.1:8080",
  "127.1:8080",
  "[::1]",
  "[::1]:8080",
  "[2001:db8::1]:443",
  "localhost.",
];

describe("protocol", () => {
  let service: TestService;
  /** Goes on beside the other tests: it takes its time. */
  let slow: Promise<number>;
  before(async () => {
    service = await openTestService({
      config: { MAX_BODY_BYTES: 1_000_000, WEBHOOK_CANCEL_ENABLED: true, CANCEL_GRACE_SEC: 0.2 },
      flows: ["echo", "sleep"],
      files: {
        "large.js": `export default () => "x".repeat(9_000_000);`,
        "bytes.js": `export default { fetch: () => new Response(Buffer.from("fast")) };`,
      },
    });
    for (const name of ["echo", "sleep", "large"])
      await service.createWebhook(name, name, { is_productive: true });
    for (const name of ["piped", "behind"])
      await service.createWebhook(name, "echo", { is_productive: true });
    const held = { is_productive: true, sync_mode: "hold" };
    await service.createWebhook("held", "large", held);
    await service.createWebhook("slept", "sleep", held);
    await service.createWebhook("bytes", "bytes", held);
    slow = dripHeaders(service.origin);
  });
  after(() => service[Symbol.asyncDispose]());

  test("requests that leave room for a guess are refused", async () => {
    const errors: string[] = [];
    for (const { name, bytes, expect } of AMBIGUOUS) {
      const answer = await raw(service.origin, bytes).catch(() => "");
      if (!expect.test(answer)) errors.push(`${name}: ${JSON.stringify(answer.slice(0, 100))}`);
      if (/^HTTP[^]*\r\n\r\nHTTP\/1\.1/.test(answer)) errors.push(`${name}: two answers`);
    }
    await service.assertAlive();
    figure("protocol: requests that leave room for a guess", AMBIGUOUS.length);
    assert.deepEqual(errors, []);
  });

  test("what never becomes a request is answered with what is wrong", async () => {
    const cases: Readonly<Record<string, readonly [status: number, code: string, detail: RegExp]>> =
      {
        [`GET ${CALL} HTTP/1.1\r\n${HOST}X-A: ${"a".repeat(20_000)}\r\n\r\n`]: [
          431,
          "headers_too_large",
          /more than 16 KB together/,
        ],
        "hello\r\n\r\n": [400, "bad_request", /no request of HTTP\/1\.1: \w+/],
        "\x16\x03\x01\x02\x00\x01": [400, "bad_request", /handshake of TLS.*http:\/\//],
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": [400, "bad_request", /Found HTTP\/2: .*HTTP\/1\.1/],
      };
    for (const [bytes, [status, code, detail]] of Object.entries(cases)) {
      const answer = await raw(service.origin, bytes);
      assert.match(answer, new RegExp(`^HTTP/1.1 ${status} [^]*\r\nconnection: close\r\n`));
      assert.match(answer, /\r\nx-request-id: \S+\r\n/);
      const problem = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))) as Record<
        string,
        string
      >;
      assert.equal(problem["type"], `urn:flowhook:error:${code}`);
      assert.match(problem["detail"] ?? "", detail);
    }
  });

  test("what no call is counted for is counted, and told in the log", async () => {
    const refusals = async (code: string): Promise<number> => {
      const { text } = await send(service.origin, { target: "/metrics" });
      return Number(new RegExp(`refusals_total\\{code="${code}"\\} (\\d+)`).exec(text)?.[1]);
    };
    const codes = ["bad_request", "bad_target", "unknown_expectation"];
    const count = () => Promise.all(codes.map(refusals));
    const before = await count();
    await raw(service.origin, "hello\r\n\r\n");
    await raw(service.origin, `GET / HTTP/1.1\r\n${HOST}Host: b\r\n\r\n`);
    const noHost = await raw(service.origin, "GET / HTTP/1.1\r\n\r\n");
    assert.match(noHost, /^HTTP\/1\.1 400 [^]*"detail":"Found 0 Host headers, expected one"/);
    const expecting = `GET / HTTP/1.1\r\n${HOST}Expect: x\r\n\r\n`;
    const unmet = await raw(service.origin, expecting);
    assert.match(unmet, /^HTTP\/1\.1 417 [^]*connection: close[^]*unknown_expectation/i);
    // Its head was read: it is a call, which is counted as one.
    await raw(
      service.origin,
      `POST ${CALL} HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
    );
    const after = await count();
    assert.deepEqual(
      after.map((count, at) => count - (before[at] ?? 0)),
      [1, 2, 1],
    );
    assert.match(
      service.logs(),
      /"code":"(bad_request|headers_too_large|bad_target)".*"Request refused"/,
    );
  });

  test("M2: a Host that names no host is refused at once, and the connection closed", async () => {
    const errors: string[] = [];
    for (const path of [CALL, "/api/latest/webhook", "/ui/", "/health/live", "/nothing"])
      for (const host of NO_HOSTS) {
        const answer = await exchangeOnce(service.origin, `GET ${path} HTTP/1.1\r\nHost: ${host}`);
        if (!/^HTTP\/1\.1 400 [^]*\r\nconnection: close\r\n/i.test(answer))
          errors.push(`${path} ${JSON.stringify(host)}: ${JSON.stringify(answer.slice(0, 60))}`);
      }
    figure("protocol: hosts that are none", NO_HOSTS.length);
    assert.deepEqual(errors, []);
    assert.ok(
      !service.logs().includes("Cannot answer"),
      "and none of them is a fault of the service",
    );
    await service.assertAlive();
  });

  test("HTTP/1.0 needs no Host", async () => {
    const login = await service.api("POST", "/auth/login", {
      user_name: "admin",
      password: ADMIN_PASSWORD,
    });
    const token = `x-service-token: ${(JSON.parse(login.text) as { token: string }).token}\r\n`;
    for (const [target, expect, more] of [
      ["/health/ready", /^HTTP\/1.1 200 /, ""],
      [`${CALL}?async`, /^HTTP\/1.1 201 /, ""],
      [
        "/api/latest/webhook/echo",
        /"url":"http:\/\/localhost\/api\/latest\/webhook\/echo\/call"/,
        token,
      ],
      ["/ui/login", /^HTTP\/1.1 200 /, ""],
    ] as const)
      assert.match(await raw(service.origin, `GET ${target} HTTP/1.0\r\n${more}\r\n`), expect);
    const two = `GET ${CALL} HTTP/1.0\r\n${HOST}Host: b\r\n\r\n`;
    assert.match(await raw(service.origin, two), /^HTTP\/1.1 400 /);
  });

  test("M2: a Host in any other form is answered", async () => {
    for (const host of HOSTS) {
      const answer = await exchangeOnce(service.origin, `GET ${CALL} HTTP/1.1\r\nHost: ${host}`);
      assert.match(answer, /^HTTP\/1\.1 303 /, host);
    }
  });

  test("a body that is too large is not read to its end", async () => {
    const socket = await openSocket(service.origin);
    let answer = "";
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")));
    socket.write(
      `POST ${CALL} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = Buffer.from(`10000\r\n${"x".repeat(65_536)}\r\n`);
    const sent = await sendOn(socket, chunk, 500_000_000);
    await untilClosed(socket);
    figure("protocol: sent of an endless body before it was refused", sent / 2 ** 20, "MB");
    assert.match(answer, /^HTTP\/1\.1 413/);
    assert.ok(sent < 64 * 2 ** 20, `it took ${sent} bytes`);
  });

  test("a body that is waited with is asked for once it is wanted", async () => {
    const expecting = (target: string, ...more: readonly string[]) =>
      [`POST ${target} HTTP/1.1`, "Host: a", "Expect: 100-continue", ...more, "", ""].join("\r\n");
    const json = "Content-Type: application/json";
    for (const [status, request] of [
      [413, expecting(CALL, json, "Content-Length: 1000001")],
      [415, expecting(CALL, json, "Content-Encoding: gzip", "Content-Length: 2")],
      [415, expecting(CALL, "Content-Type: image/png", "Content-Length: 2")],
      [404, expecting("/api/latest/webhook/nobody/call", json, "Content-Length: 2")],
      [401, expecting("/api/latest/webhook", json, "Content-Length: 2")],
    ] as const) {
      const answer = await raw(service.origin, request);
      assert.match(answer, new RegExp(`^HTTP/1.1 ${status} [^]*\r\nconnection: close\r\n`, "i"));
    }
    const taken = expecting(`${CALL}?async`, json, "Connection: close", "Content-Length: 2");
    assert.match(
      await raw(service.origin, `${taken}{}`),
      /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 201 /,
    );
    const login = expecting(
      "/api/latest/auth/login",
      json,
      "Connection: close",
      "Content-Length: 2",
    );
    assert.match(
      await raw(service.origin, `${login}{}`),
      /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 422 /,
    );
  });

  test("a body that is asked for behind another answer is asked for within none", async () => {
    const [slept, bytes] = ["slept", "bytes"].map((name) => `/api/latest/webhook/${name}/call`);
    const first = `GET ${slept}?ms=500 HTTP/1.1\r\nHost: a\r\n\r\n`;
    const lines = ["Host: a", "Content-Type: application/json", "Content-Length: 2"];
    const more = [...lines, "Expect: 100-continue", "Connection: close", "", "{}"].join("\r\n");
    const answers = await raw(service.origin, `${first}POST ${bytes} HTTP/1.1\r\n${more}`);
    const [, second = ""] = answers.split(/(?=HTTP\/1\.1 200)/);
    assert.match(second, /^[^]+\r\n\r\nfast$/);
    assert.doesNotMatch(second, /100 Continue/);
  });

  test("an endless body to a call that takes none is not read for ever", async () => {
    for (const path of ["/api/latest/webhook/nobody/call", "/api/latest/nothing", "/ui/login"]) {
      const socket = await openSocket(service.origin);
      socket.on("data", () => undefined);
      socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`);
      const chunk = Buffer.from(`10000\r\n${"x".repeat(65_536)}\r\n`);
      const sent = await sendOn(socket, chunk, 2_000_000_000);
      socket.destroy();
      figure(`protocol: taken of an endless body to ${path}`, sent / 2 ** 20, "MB");
      assert.ok(sent < 64 * 2 ** 20, `it took ${sent} bytes`);
    }
  });

  test("readers that do not read hold nothing up", async () => {
    const readers = await Promise.all(Array.from({ length: 10 }, () => openSocket(service.origin)));
    for (const socket of readers) {
      socket.pause();
      socket.write(toRequest("GET", "/api/latest/webhook/held/call"));
    }
    await poll("their executions to end", async () => {
      const { text } = await service.api("GET", "/execution?flow=large&status=ENDED_SUCCESS");
      return (JSON.parse(text) as { items: unknown[] }).items.length >= 10 ? true : null;
    });
    assert.equal((await service.call("echo")).status, 303);
    figure("protocol: server with 10 answers of 9 MB unread", residentMb(service), "MB");
    for (const socket of readers) socket.destroy();
  });

  test("what is not read is bounded: the client that holds most of it loses what it was sent first", async () => {
    const started = await service.call("large", "?async");
    const query = `__wait_execution_id=${started.text}`;
    const target = `/api/latest/webhook/large/call?${query}`;
    const whole = await service.call("large", `?${query}`);
    assert.equal(whole.text.length, 9_000_002);
    const ask = async (localAddress: string): Promise<Socket> => {
      const socket = connect({ ...service.origin, localAddress });
      socket.on("error", () => undefined);
      socket.write(toRequest("GET", target, [["Connection", "close"]]));
      await once(socket, "readable");
      return socket;
    };
    const greedy: Socket[] = [];
    const askMore = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n += 1) greedy.push(await ask("127.0.0.3"));
    };
    await askMore(UNREAD - 10);
    const other = await ask("127.0.0.2");
    await askMore(10);
    await service.assertAlive();
    const read = async (socket: Socket): Promise<boolean> => {
      let size = 0;
      socket.on("data", (chunk: Buffer) => (size += chunk.length));
      await untilClosed(socket);
      return size > whole.text.length;
    };
    const all = await Promise.all(greedy.map(read));
    const kept = all.filter((isWhole) => isWhole).length;
    figure(`protocol: answers of 9 MB that nobody reads, kept of ${UNREAD}`, kept);
    assert.ok(kept <= 28, `${kept} are kept`);
    assert.equal(all.at(-1), true, "what was sent last is kept");
    assert.equal(await read(other), true, "and so is another client's");
  });

  test("requests that come before their answers are taken up one by one, and in order", async () => {
    const first = await service.call("sleep", "?ms=60000");
    const [, query = ""] = (first.headers["location"] ?? "").split("?");
    const socket = await openSocket(service.origin);
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
    const target = (n: number): string => `/api/latest/webhook/piped/call/${n}?async`;
    const requests = Array.from({ length: PIPED }, (_, n) => toRequest("GET", target(n)));
    const leg = toRequest("GET", `/api/latest/webhook/sleep/call?${query}`);
    socket.write(Buffer.concat([leg, ...requests]));
    const started = async (): Promise<number> => {
      const { text } = await service.api("GET", "/execution?webhook=piped&limit=500");
      return (JSON.parse(text) as { items: unknown[] }).items.length;
    };
    for (let n = 0; n < 10; n += 1) await service.assertAlive();
    assert.equal(await started(), 0);
    const id = first.headers["flowhook-execution-id"] ?? "";
    assert.equal((await service.api("POST", `/execution/${id}/cancel`)).status, 200);
    const statuses = await poll("all to be answered", async () => {
      const found = [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
      return found.length > PIPED ? found : null;
    });
    socket.destroy();
    assert.deepEqual(statuses, ["500", ...requests.map(() => "201")]);
    assert.equal(await started(), PIPED);
  });

  test("what comes behind an answer that closes the connection is not run", async () => {
    const target = "/api/latest/webhook/behind/call";
    const started = async (): Promise<number> => {
      const { text } = await service.api("GET", "/execution?webhook=behind&limit=500");
      return (JSON.parse(text) as { items: unknown[] }).items.length;
    };
    const json = `${HOST}Content-Type: application/json\r\n`;
    const post = `POST ${target}?async HTTP/1.1\r\n${json}Content-Length: 2\r\n\r\n{}`;
    const get = `GET ${target}?async HTTP/1.1\r\n${HOST}`;
    const chunked = "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    for (const [name, bytes] of Object.entries({
      "two hosts": `${get}Host: b\r\n\r\n${post}`,
      "a coding": `POST ${target} HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n${post}`,
      "chunks of HTTP/1.0": `POST ${target} HTTP/1.0\r\n${HOST}Connection: keep-alive\r\n${chunked}${post}`,
      "an absolute target": `GET http://a${target} HTTP/1.1\r\n${HOST}\r\n${get}\r\n`,
      "a body that nobody asks for": `${get}Expect: 100-continue\r\n\r\n${get}\r\n`,
      "the last one": `${get}Connection: close\r\n\r\n${post}`,
      "garbage behind two": `${post}${post}garbage\r\n\r\n`,
    })) {
      const before = await started();
      const answers = (await raw(service.origin, bytes)).match(/HTTP\/1\.1 \d+/g) ?? [];
      await service.assertAlive();
      const taken = answers.filter((line) => line.endsWith("201")).length;
      assert.ok(answers.length > 0, name);
      assert.equal((await started()) - before, taken, name);
    }
  });

  test("disconnects at every moment", async () => {
    const random = openRandom(SEED);
    const body = Buffer.from(JSON.stringify({ text: "x".repeat(3000) }));
    const request = toRequest(
      "POST",
      `/api/latest/webhook/sleep/call?ms=20`,
      [["Content-Type", "application/json"]],
      body,
    );
    let cut = 0;
    for (; cut < 300; cut += 1) {
      const socket = await openSocket(service.origin);
      const part = request.subarray(0, Math.ceil(random() * request.length));
      await new Promise<void>((resolve) => socket.write(part, () => resolve()));
      if (random() < 0.5) await new Promise((resolve) => setImmediate(resolve));
      if (random() < 0.5) reset(socket);
      else socket.destroy();
    }
    figure("protocol: disconnects", cut);
    await service.assertAlive();
    await poll("every execution to end", async () => {
      const { text } = await service.api("GET", "/workspace");
      const { executions } = JSON.parse(text) as {
        executions: { running: number; waiting: number };
      };
      return executions.running + executions.waiting === 0 ? true : null;
    });
  });

  test("many clients wait at the same time", async () => {
    const first = await service.call("sleep", "?ms=60000");
    const location = first.headers["location"] ?? "";
    const query = location.slice(location.indexOf("?"));
    const before = residentMb(service);
    const wires = Array.from({ length: CLIENTS }, () => new Wire(service.origin));
    const target = `/api/latest/webhook/sleep/call${query}`;
    const answers = Promise.allSettled(
      wires.map((wire) => wire.exchange(toRequest("GET", target))),
    );
    await service.assertAlive();
    const begun = performance.now();
    assert.equal((await service.call("echo")).status, 303);
    figure("protocol: clients that wait", CLIENTS);
    figure("protocol: another call meanwhile", performance.now() - begun, "ms");
    figure(
      "protocol: memory of one that waits",
      ((residentMb(service) - before) * 1024) / CLIENTS,
      "kB",
    );
    const id = first.headers["flowhook-execution-id"] ?? "";
    assert.equal((await service.api("POST", `/execution/${id}/cancel`)).status, 200);
    const told = await answers;
    const right = told.filter((one) => one.status === "fulfilled" && one.value.status === 500);
    figure("protocol: of them told of the cancel", right.length);
    assert.equal(right.length, CLIENTS);
    for (const wire of wires) wire.close();
  });

  test("slow headers are given up, and hold up nobody", async () => {
    const took = await slow;
    figure("protocol: slow headers are given up after", took, "ms");
    assert.ok(took < 20_000);
    await service.assertAlive();
  });
});

/** Sends a head and waits until the connection is closed, or has been answered. */
async function exchangeOnce(origin: Origin, head: string): Promise<string> {
  const socket = await openSocket(origin);
  let answer = "";
  const answered = new Promise<void>((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      if (answer.includes("\r\n\r\n")) resolve();
    });
  });
  socket.write(Buffer.from(`${head}\r\n\r\n`, "latin1"));
  const silent = new Promise<void>((resolve) => setTimeout(resolve, HUNG_MS).unref());
  await Promise.race([answered, untilClosed(socket), silent]);
  socket.destroy();
  return answer;
}

/** Clients that send a byte of their headers now and then, until the service has let go of all. */
async function dripHeaders(origin: Origin): Promise<number> {
  const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(origin)));
  const begun = performance.now();
  for (const socket of sockets) socket.write(`GET ${CALL} HTTP/1.1\r\nHost: a\r\nX-A: `);
  const drip = setInterval(() => sockets.forEach((socket) => socket.write("a")), 500);
  await Promise.all(sockets.map(untilClosed));
  clearInterval(drip);
  return performance.now() - begun;
}

async function openSocket(origin: Origin): Promise<Socket> {
  const socket = connect(origin.port, origin.host);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

function untilClosed(socket: Socket): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

/** Sends a chunk again and again until the other side closes; gives the bytes that it took. */
async function sendOn(socket: Socket, chunk: Buffer, most: number): Promise<number> {
  const closed = untilClosed(socket);
  let sent = 0;
  while (!socket.destroyed && sent < most) {
    // An answer that is there is read: a write after a reset would lose it.
    await turn();
    sent += chunk.length;
    await Promise.race([new Promise((resolve) => socket.write(chunk, resolve)), closed]);
  }
  return sent;
}

function residentMb(service: TestService): number {
  return processFigure(service.pid, "VmRSS") / 1024;
}
