import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { send } from "../blackbox/client.ts";
import { poll } from "../blackbox/scenario.ts";
import { reset } from "../reset.ts";
import { openTestService, processFigure, type TestService } from "./test-service.ts";
import { figure } from "./sizes.ts";

/** What bodies cost while they come, however they are cut into chunks. */

const KEY = "faults-suite-key-of-bodies";

/** Chunks of one byte that one connection sends: six bytes each on the wire. */
const CHUNKS = 1_200_000;
/** One of them as an object of its own costs about 330 bytes. */
const MOST_MB = 120;

interface Door {
  readonly name: string;
  readonly target: string;
  readonly type: string;
  readonly status: RegExp;
  readonly more?: string;
}

const CALL = "/api/latest/webhook";
const JSON_TYPE = "application/json";

const DOORS: readonly Door[] = [
  {
    name: "a public webhook",
    target: `${CALL}/open/call?async`,
    type: JSON_TYPE,
    status: /^HTTP\/1.1 201/,
  },
  {
    name: "a webhook with a key, without it",
    target: `${CALL}/keyed/call?async`,
    type: JSON_TYPE,
    status: /^HTTP\/1.1 401/,
  },
  {
    name: "the login of the API",
    target: "/api/latest/auth/login",
    type: JSON_TYPE,
    status: /^HTTP\/1.1 4(13|22)/,
  },
  {
    name: "the login of the user interface",
    target: "/ui/login",
    type: "application/x-www-form-urlencoded",
    status: /^HTTP\/1.1 4(01|13|29)/,
  },
  {
    name: "an import without a login",
    target: "/api/latest/import",
    type: "application/yaml",
    status: /^HTTP\/1.1 401/,
  },
];

describe("bodies", () => {
  let service: TestService;
  before(async () => {
    service = await openTestService({ flows: ["echo", "sleep"], config: { FLOW_TIMEOUT_SEC: 60 } });
    for (const [name, fields] of [
      ["open", {}],
      ["keyed", { key: KEY }],
    ] as const)
      await service.createWebhook(name, "echo", { is_productive: true, ...fields });
    await service.createWebhook("held", "sleep", { is_productive: true, sync_mode: "hold" });
  });
  after(() => service[Symbol.asyncDispose]());

  for (const door of DOORS)
    test(`C2: a body in chunks of one byte costs its bytes: ${door.name}`, async () => {
      const begun = peakMb(service);
      const answer = await sendBytes(service, door);
      const cost = peakMb(service) - begun;
      figure(`bodies: ${CHUNKS} chunks of one byte, ${door.name}`, cost, "MB");
      assert.match(answer, door.status);
      assert.ok(cost < MOST_MB, `it cost ${cost} MB`);
      await service.assertAlive();
    });

  test("C2: chunks of one byte that nobody reads wait nowhere", async () => {
    const heads = Array.from({ length: 24 }, (_, n) => UNREAD[n % UNREAD.length] as string);
    const sockets = await Promise.all(heads.map((head) => openChunked(service, head)));
    const begun = peakMb(service);
    const piece = Buffer.from("1\r\nx\r\n".repeat(60_000));
    await Promise.all(sockets.map((socket) => written(socket, piece)));
    // Each answer is a turn of the server's loop, which reads on at each socket.
    for (let turn = 0; turn < 40; turn += 1) await send(service.origin, { target: "/health/live" });
    const cost = peakMb(service) - begun;
    figure("bodies: 24 unread bodies of 60,000 chunks", cost, "MB");
    for (const socket of sockets) socket.destroy();
    assert.ok(cost < MOST_MB, `it cost ${cost} MB`);
    await service.assertAlive();
  });

  test("a call that waits holds nothing of its body", async () => {
    const left = new AbortController();
    const call = {
      method: "POST",
      headers: { "content-type": JSON_TYPE },
      body: JSON.stringify({ text: "x".repeat(1_000_000) }),
      signal: left.signal,
    };
    const answers: Promise<unknown>[] = [];
    const begun = residentMb(service);
    for (let count = 0; count < WAITING; count += 10) {
      for (let n = 0; n < 10; n += 1)
        answers.push(service.call("held", "?ms=60000", { ...call, localAddress: addressOf(n) }));
      await untilWaiting(service, answers.length);
    }
    const cost = residentMb(service) - begun;
    figure(`bodies: ${WAITING} calls that wait, of 1 MB each`, cost, "MB");
    assert.ok(cost < WAITING, `it cost ${cost} MB`);
    left.abort();
    await Promise.allSettled(answers);
    await untilWaiting(service, 0);
  });
});

/**
 * Of 1 MB each: with their bodies and inputs they would be 2.5 times so many MB, and without some
 * 200 MB that are not collected yet.
 */
const WAITING = 400;

async function untilWaiting(service: TestService, count: number): Promise<void> {
  await poll(`${count} calls to wait`, async () => {
    const { text } = await service.api("GET", "/workspace");
    const { executions } = JSON.parse(text) as { executions: Record<string, number> };
    return executions["running"]! + executions["waiting"]! === count ? true : null;
  });
}

const LARGE = 9_500_000;

describe("bodies that do not come to their end", () => {
  let service: TestService;
  before(async () => {
    service = await openTestService({ flows: ["echo", "sleep"] });
    await service.createWebhook("open", "sleep", { is_productive: true });
    await service.createWebhook("keyed", "echo", { is_productive: true, key: KEY });
    await service.createWebhook("other", "echo", { is_productive: true, sync_mode: "hold" });
  });
  after(() => service[Symbol.asyncDispose]());

  test("M4: all of them together are bounded, and small ones come through", async () => {
    const begun = peakMb(service);
    const senders = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        Sender.open(service, n % 2 === 0 ? "open" : "keyed", { from: addressOf(n) }),
      ),
    );
    await Promise.all(senders.map((sender) => sender.send(LARGE - 1)));
    // Whoever goes on sending may be cut off before the answer is read.
    const refused = senders.filter((sender) => !isHeld(sender));
    const answered = refused.filter(({ answer }) => answer !== "");
    figure("bodies: unfinished ones of 9.5 MB", senders.length);
    figure("bodies: of them refused", refused.length);
    figure("bodies: peak of the unfinished", peakMb(service) - begun, "MB");
    figure("bodies: of them told why", answered.length);
    assert.ok(answered.length > 0);
    for (const { answer } of answered) {
      assert.match(answer, /^HTTP\/1\.1 503 /);
      assert.match(answer, /\r\nretry-after: \d+/i);
      assert.match(answer, /urn:flowhook:error:overloaded/);
    }
    assert.ok(refused.length >= 40, "128 MB hold thirteen of them");
    assert.ok(senders.length - refused.length >= 8);
    assert.ok(peakMb(service) - begun < 330, `${peakMb(service) - begun} MB`);
    const small = JSON.stringify({ text: "x".repeat(10_000) });
    const headers = { "content-type": JSON_TYPE };
    for (let n = 0; n < 20; n += 1) {
      const answer = await service.call("other", "", { method: "POST", headers, body: small });
      assert.equal(answer.status, 200, answer.text.slice(0, 200));
    }
    for (const sender of senders) sender.socket.destroy();
    await service.assertAlive();
  });

  test("M4: what a body held is free again, however it ends", async () => {
    const ways: Readonly<Record<string, (sender: Sender) => Promise<unknown>>> = {
      "the client closes": async ({ socket }) => socket.end(),
      "the client resets": async ({ socket }) => reset(socket),
      "it comes to its end": (sender) => sender.send(1),
      "it is no body": (sender) => sender.send(100, "zz\r\n"),
    };
    for (const [way, end] of Object.entries(ways)) {
      // Twice what there is room for: what is not given back would be missed.
      for (let round = 0; round < 2; round += 1) {
        const senders = await Promise.all(
          Array.from({ length: 12 }, (_, n) =>
            Sender.open(service, "open", { isChunked: true, from: addressOf(n) }),
          ),
        );
        await Promise.all(senders.map((sender) => sender.send(LARGE - 1)));
        const refused = senders.filter(({ answer }) => answer.startsWith("HTTP/1.1 503"));
        assert.equal(refused.length, 0, `${way}, round ${round}`);
        await Promise.all(senders.map(end));
        await Promise.all(senders.map((sender) => sender.over()));
      }
    }
    await service.assertAlive();
  });

  test("M4: one client that holds what it gets leaves room for the others, and not for long", async () => {
    const silent = await Promise.all(
      Array.from({ length: 14 }, () => Sender.open(service, "open", { from: "127.0.0.2" })),
    );
    const slow = await Sender.open(service, "open", { from: "127.0.0.3" });
    await Promise.all([slow.send(60_000), ...silent.map((sender) => sender.send(LARGE - 1))]);
    const kept = await poll("those beyond its share to be refused", async () => {
      const left = silent.filter(isHeld);
      return left.length <= 7 ? left : null;
    });
    figure("bodies: unfinished ones of one client, of 14", kept.length);
    assert.ok(kept.length >= 3, `${kept.length} of one client`);
    const large = JSON.stringify({ text: "x".repeat(100_000) });
    const headers = { "content-type": JSON_TYPE };
    for (const localAddress of ["127.0.0.4", "127.0.0.5"])
      for (let n = 0; n < 5; n += 1) {
        const call = { method: "POST", headers, body: large, localAddress };
        const answer = await service.call("other", "", call);
        assert.equal(answer.status, 200, answer.text.slice(0, 200));
      }
    await Promise.all(kept.map((sender) => sender.over()));
    for (const { socket } of kept) if (!socket.destroyed) await once(socket, "close");
    for (const { answer } of kept) {
      assert.match(answer, /^HTTP\/1\.1 408 /);
      assert.match(answer, /\r\nconnection: close/i);
      assert.match(answer, /urn:flowhook:error:body_too_slow/);
    }
    assert.equal(slow.answer, "", "a small body may come slowly");
    slow.socket.destroy();
    await service.assertAlive();
  });
});

/** Whether it was taken: where the machine pauses, it may have been held long enough to be let go. */
function isHeld({ answer, socket }: Sender): boolean {
  return answer === "" ? !socket.destroyed : answer.startsWith("HTTP/1.1 408 ");
}

/** Some clients: one alone gets no more than its share. */
function addressOf(n: number): string {
  return `127.0.0.${2 + (n % 6)}`;
}

interface From {
  /** The address of this machine that it is sent from. */
  readonly from: string;
  readonly isChunked?: boolean;
}

/** Sends a body as slowly as it is told to. */
class Sender {
  readonly socket: Socket;
  readonly #is_chunked: boolean;
  answer = "";

  constructor(socket: Socket, isChunked: boolean) {
    this.socket = socket;
    this.#is_chunked = isChunked;
    socket.on("data", (bytes: Buffer) => (this.answer += bytes.toString("latin1")));
  }

  static async open(service: TestService, webhook: string, { from, isChunked = false }: From) {
    const socket = connect({ ...service.origin, localAddress: from });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    const length = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${LARGE}`;
    socket.write(
      `POST ${CALL}/${webhook}/call?async HTTP/1.1\r\nHost: a\r\n` +
        `Content-Type: ${JSON_TYPE}\r\n${length}\r\n\r\n`,
    );
    return new Sender(socket, isChunked);
  }

  /** Sends so many bytes, unless it is answered before; resolves when the server has read them. */
  async send(count: number, raw?: string): Promise<void> {
    if (raw !== undefined) return written(this.socket, Buffer.from(raw));
    if (count === 1) {
      const end = this.#is_chunked ? '1\r\n"\r\n0\r\n\r\n' : '"';
      return written(this.socket, Buffer.from(end));
    }
    const piece = 250_000;
    for (let left = count; left > 0 && this.answer === ""; left -= piece) {
      const bytes = Buffer.alloc(Math.min(piece, left), "x");
      if (left === count) bytes[0] = 0x22;
      const head = `${bytes.length.toString(16)}\r\n`;
      const sent = this.#is_chunked ? Buffer.concat([Buffer.from(head), bytes, CRLF]) : bytes;
      await written(this.socket, sent);
    }
    await this.#read();
  }

  /** Resolves when the server has answered, or let go. */
  over(): Promise<unknown> {
    if (this.answer !== "" || this.socket.destroyed) return Promise.resolve();
    return Promise.race([once(this.socket, "data"), once(this.socket, "close")]);
  }

  /** The server has read what lies in no buffer of the system any more. */
  #read(): Promise<unknown> {
    return poll("the server to read what was sent", async () =>
      this.answer !== "" || this.socket.destroyed || queued(this.socket) === 0 ? true : null,
    );
  }
}

const CRLF = Buffer.from("\r\n");

/** Bytes of a connection that the server has not read yet, at either end (proc(5)). */
function queued(socket: Socket): number {
  const port = (socket.localPort ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const lines = readFileSync("/proc/net/tcp", "latin1").split("\n");
  const ends = lines.map((line) => line.trim().split(/\s+/));
  const own = ends.filter(([, one = "", other = ""]) =>
    [one, other].some((end) => end.endsWith(`:${port}`)),
  );
  const counts = own.map(([, local = "", , , queues = ""]) => {
    const [sending = "0", received = "0"] = queues.split(":");
    return Number.parseInt(local.endsWith(`:${port}`) ? sending : received, 16);
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Requests whose body nobody reads, and which wait for something else. */
const UNREAD: readonly string[] = [
  `GET ${CALL}/held/call?ms=30000 HTTP/1.1\r\n`,
  `HEAD ${CALL}/held/call?ms=30000 HTTP/1.1\r\n`,
];

/** The highest resident memory that the server ever had. */
function residentMb(service: TestService): number {
  return processFigure(service.pid, "VmRSS") / 1024;
}

function peakMb(service: TestService): number {
  return processFigure(service.pid, "VmHWM") / 1024;
}

async function openChunked(service: TestService, head: string): Promise<Socket> {
  const socket = connect(service.origin.port, service.origin.host);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(`${head}Host: service.test\r\nTransfer-Encoding: chunked\r\n\r\n`);
  return socket;
}

/** Resolves when the system has taken the bytes, or the other side has closed. */
function written(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off("close", done);
      resolve();
    };
    socket.once("close", done);
    socket.write(bytes, done);
  });
}

/** Sends a body of one-byte chunks and gives the beginning of the answer. */
async function sendBytes(service: TestService, door: Door): Promise<string> {
  const head = `POST ${door.target} HTTP/1.1\r\nContent-Type: ${door.type}\r\n`;
  const socket = await openChunked(service, head);
  let answer = "";
  socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")));
  const answered = Promise.race([once(socket, "data"), once(socket, "close")]);
  // A JSON string, so that it is valid where it is read to its end.
  const letters = Buffer.from("1\r\nx\r\n".repeat(20_000));
  await written(socket, Buffer.from('1\r\n"\r\n'));
  for (let sent = 0; sent < CHUNKS && answer === ""; sent += 20_000) {
    await written(socket, letters);
    // An answer that is there is read: a write after a reset would lose it.
    await turn();
  }
  await written(socket, Buffer.from('1\r\n"\r\n0\r\n\r\n'));
  await answered;
  socket.destroy();
  return answer;
}
