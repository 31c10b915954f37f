import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { poll } from "../blackbox/scenario.ts";
import { openTestService, type TestService } from "./test-service.ts";
import { figure } from "./sizes.ts";

/** Clients that hold as many connections as they get: others still get theirs. */

/** What the service holds at most, and what one client gets of it once half are taken. */
const MOST = 16_384;
const SHARE = MOST / 4;

/** Each connection is a descriptor here, and one of the service. */
const files = Number(
  /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1],
);
const skip = files > 15_000 ? false : `only ${files} files can be open`;

const REQUEST = "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n";

describe("connections", { skip }, () => {
  let service: TestService;
  const held: Socket[] = [];
  before(async () => {
    service = await openTestService({ flows: ["echo"] });
  });
  after(async () => {
    for (const socket of held) socket.destroy();
    await service[Symbol.asyncDispose]();
  });

  /** Opens connections from an address of this machine, each with one small request. */
  async function hold(address: string, count: number): Promise<Held[]> {
    const all: Held[] = [];
    for (let left = count; left > 0; left -= 256) {
      const part = Array.from({ length: Math.min(256, left) }, () => open(address));
      all.push(...(await Promise.all(part)));
    }
    return all;
  }

  async function open(address: string): Promise<Held> {
    const socket = connect({ port: service.origin.port, host: "127.0.0.1", localAddress: address });
    held.push(socket);
    const one: Held = { socket, received: "" };
    socket.on("error", () => undefined);
    socket.on("data", (bytes: Buffer) => (one.received += bytes.toString("latin1")));
    socket.write(REQUEST);
    await new Promise<void>((resolve) => {
      socket.once("data", () => resolve());
      socket.once("close", () => resolve());
    });
    return one;
  }

  test("M3: one client gets its share, and everybody else is answered", async () => {
    const greedy = await hold("127.0.0.2", MOST / 2 + 2000);
    const let_in = greedy.filter(isServed);
    const told = greedy.filter(({ received }) => received.startsWith("HTTP/1.1 503 "));
    figure("connections: asked for by one client", greedy.length);
    figure("connections: let in", let_in.length);
    figure("connections: of the others told 503", told.length);
    assert.ok(let_in.length >= SHARE && let_in.length <= MOST / 2 + 1);
    for (const address of ["127.0.0.3", "127.0.0.4"])
      assert.ok((await hold(address, 200)).every(isServed), address);
    await service.assertAlive();
  });

  test("M3: kept connections that wait for nothing are closed before room is scarce", async () => {
    const second = await hold("127.0.0.5", SHARE);
    figure("connections: let in of a second client", second.filter(isServed).length);
    await hold("127.0.0.6", 500);
    await poll("idle connections to be closed", async () =>
      held.filter(({ destroyed }) => destroyed).length > MOST / 2 ? true : null,
    );
    assert.ok((await hold("127.0.0.7", 200)).every(isServed));
    await service.assertAlive();
  });
});

interface Held {
  readonly socket: Socket;
  received: string;
}

function isServed({ received }: Held): boolean {
  return received.startsWith("HTTP/1.1 200 ");
}
