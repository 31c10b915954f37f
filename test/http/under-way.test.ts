import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { test } from "node:test";
import { takeUpInTurn, type Turns } from "../../src/server/http/under-way.ts";
import { answerUnparsed } from "../../src/server/http/unparsed-request.ts";

const LIMITS = {
  headersTimeout: 150,
  requestTimeout: 150,
  connectionsCheckingInterval: 20,
  maxHeaderSize: 16 * 1024,
};
/** How long one request waits: the parser's time is over several times before it ends. */
const WAIT_MS = 500;
/** More than is read meanwhile, in heads that end in the middle of what is read at once. */
const MANY = 150;
const GET = `GET /at-once HTTP/1.1\r\nHost: a\r\nX-Pad: ${"a".repeat(1700)}\r\n\r\n`;
const WAITING = GET.replace("/at-once", "/waits");

interface Bench extends AsyncDisposable {
  readonly server: Server;
  readonly turns: Turns;
  readonly refused: string[];
  connect(): Socket;
}

async function open(): Promise<Bench> {
  const refused: string[] = [];
  const server = createServer(LIMITS);
  const answer = (outgoing: ServerResponse) => outgoing.end("answered");
  const turns = takeUpInTurn(({ url }, outgoing) => {
    if (url === "/waits") setTimeout(answer, WAIT_MS, outgoing);
    else answer(outgoing);
  });
  answerUnparsed(server, LIMITS, (_, { code }) => refused.push(code));
  server.on("request", turns.take);
  await once(server.listen(0), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    server,
    turns,
    refused,
    connect: () => connect(port).on("error", () => undefined),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

async function read(socket: Socket, isEnough: (text: string) => boolean): Promise<string> {
  let text = "";
  for await (const chunk of socket) {
    text += String(chunk);
    if (isEnough(text)) break;
  }
  return text;
}

const statusesOf = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, at]) => at);

test("who is not read while requests wait is not slow", { timeout: 20_000 }, async () => {
  await using bench = await open();
  const socket = bench.connect();
  socket.write(WAITING + GET.repeat(MANY));
  const text = await read(socket, (so) => statusesOf(so).length > MANY);
  assert.deepEqual(statusesOf(text), Array(MANY + 1).fill("200"));
  assert.deepEqual(bench.refused, []);
});

test("who is read again and sends no end of a head is slow", { timeout: 20_000 }, async () => {
  await using bench = await open();
  const socket = bench.connect();
  socket.write(WAITING + GET + GET.slice(0, 100));
  const text = await read(socket, () => false);
  assert.deepEqual(statusesOf(text), ["200", "200", "408"]);
  assert.deepEqual(bench.refused, ["request_too_slow"]);
});

test("a body that waited with its request comes to its end", { timeout: 20_000 }, async () => {
  await using bench = await open();
  const socket = bench.connect();
  const head = "POST /waits HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n";
  socket.write(`${WAITING}${head}so`);
  await once(socket, "data");
  socket.write("on");
  const text = await read(socket, (so) => statusesOf(so).length > 0);
  assert.deepEqual(statusesOf(text), ["200"]);
  assert.deepEqual(bench.refused, []);
});

test("the first answer that closes is the last, also where requests wait", async () => {
  await using bench = await open();
  const socket = bench.connect();
  socket.write(WAITING + GET.repeat(10));
  await once(bench.server, "request");
  bench.turns.closeAfterAnswers();
  const text = await read(socket, () => false);
  assert.deepEqual(statusesOf(text), ["200", "200"]);
  assert.deepEqual(
    [...text.matchAll(/^connection: (.*)\r$/gim)].map(([, value]) => value),
    ["keep-alive", "close"],
  );
});
