import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { closeSilent } from "../../src/server/http/silent.ts";

const STALLED_MS = 50;
const KEPT_MS = 100;
const HELD_MS = 600;
const LARGE = 50_000_000;

const server = createServer({ keepAliveTimeout: KEPT_MS }, (incoming, outgoing) => {
  const body = incoming.url === "/large" ? Buffer.alloc(LARGE) : "answered";
  setTimeout(() => outgoing.end(body), incoming.url === "/held" ? HELD_MS : 0);
});
closeSilent(server, STALLED_MS);
before(async () => void (await once(server.listen(0), "listening")));
after(() => server.close());

function ask(path: string): Socket {
  const socket = connect((server.address() as AddressInfo).port);
  socket.on("error", () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  return socket;
}

async function read(socket: Socket): Promise<number> {
  let size = 0;
  socket.on("data", (chunk: Buffer) => (size += chunk.length));
  await once(socket, "close");
  return size;
}

test("a connection that is kept for nothing is closed", async () => {
  const socket = ask("/");
  const [answer] = (await once(socket, "data")) as [Buffer];
  assert.match(answer.toString(), /answered$/);
  await once(socket, "close");
});

test("who waits for an answer may be silent", async () => {
  const [answer] = (await once(ask("/held"), "data")) as [Buffer];
  assert.match(answer.toString(), /answered$/);
});

test("who takes nothing of an answer is let go", async () => {
  const socket = ask("/large").pause();
  const [served] = (await once(server, "connection")) as [Socket];
  await once(served, "close");
  assert.ok((await read(socket.resume())) < LARGE);
});
