import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { send } from "../blackbox/client.ts";
import { openHouse, processFigure, type House } from "./house.ts";
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
  let house: House;
  before(async () => {
    house = await openHouse({ flows: ["echo", "sleep"], config: { FLOW_TIMEOUT_SEC: 60 } });
    for (const [name, fields] of [
      ["open", {}],
      ["keyed", { key: KEY }],
    ] as const)
      await house.createWebhook(name, "echo", { is_productive: true, ...fields });
    await house.createWebhook("held", "sleep", { is_productive: true, sync_mode: "hold" });
  });
  after(() => house[Symbol.asyncDispose]());

  for (const door of DOORS)
    test(`C2: a body in chunks of one byte costs its bytes: ${door.name}`, async () => {
      const begun = peakMb(house);
      const answer = await sendBytes(house, door);
      const cost = peakMb(house) - begun;
      figure(`bodies: ${CHUNKS} chunks of one byte, ${door.name}`, cost, "MB");
      assert.match(answer, door.status);
      assert.ok(cost < MOST_MB, `it cost ${cost} MB`);
      await house.assertAlive();
    });

  test("C2: chunks of one byte that nobody reads wait nowhere", async () => {
    const heads = Array.from({ length: 24 }, (_, n) => UNREAD[n % UNREAD.length] as string);
    const sockets = await Promise.all(heads.map((head) => openChunked(house, head)));
    const begun = peakMb(house);
    const piece = Buffer.from("1\r\nx\r\n".repeat(60_000));
    await Promise.all(sockets.map((socket) => written(socket, piece)));
    // Each answer is a turn of the server's loop, which reads on at each socket.
    for (let turn = 0; turn < 40; turn += 1) await send(house.origin, { target: "/health/live" });
    const cost = peakMb(house) - begun;
    figure("bodies: 24 unread bodies of 60,000 chunks", cost, "MB");
    for (const socket of sockets) socket.destroy();
    assert.ok(cost < MOST_MB, `it cost ${cost} MB`);
    await house.assertAlive();
  });
});

/** Requests whose body nobody reads, and which wait for something else. */
const UNREAD: readonly string[] = [
  `GET ${CALL}/held/call?ms=30000 HTTP/1.1\r\n`,
  `HEAD ${CALL}/held/call?ms=30000 HTTP/1.1\r\n`,
];

/** The highest resident memory that the server ever had. */
function peakMb(house: House): number {
  return processFigure(house.pid, "VmHWM") / 1024;
}

async function openChunked(house: House, head: string): Promise<Socket> {
  const socket = connect(house.origin.port, house.origin.host);
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
async function sendBytes(house: House, door: Door): Promise<string> {
  const head = `POST ${door.target} HTTP/1.1\r\nContent-Type: ${door.type}\r\n`;
  const socket = await openChunked(house, head);
  let answer = "";
  socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")));
  const answered = Promise.race([once(socket, "data"), once(socket, "close")]);
  // A JSON string, so that it is valid where it is read to its end.
  const letters = Buffer.from("1\r\nx\r\n".repeat(20_000));
  await written(socket, Buffer.from('1\r\n"\r\n'));
  for (let sent = 0; sent < CHUNKS && answer === ""; sent += 20_000) await written(socket, letters);
  await written(socket, Buffer.from('1\r\n"\r\n0\r\n\r\n'));
  await answered;
  socket.destroy();
  return answer;
}
