import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runCommand } from "../blackbox/command.ts";
import { poll } from "../blackbox/scenario.ts";
import type { Target } from "../blackbox/target.ts";
import { faultsTarget, openTestService, type TestService } from "./test-service.ts";

/** The process may have few files and sockets open, and callers hold as many as they get. */

const FILES = 256;
/** What is left for callers of them. */
const MOST = FILES / 2;

/** Its body is not whole: a connection that waits for nothing is closed when they are scarce. */
const CALL =
  "POST /api/latest/webhook/echo/call HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" +
  "Content-Length: 2\r\n\r\n{";

/** Of a request without an end. */
const BEGINNING = "GET /health/live HTTP/1.1\r\nHost: a\r\n";

const skip = process.platform === "linux" ? false : "callers have one address here";

describe("few open files", { skip }, () => {
  let service: TestService;
  const held: Socket[] = [];
  before(async () => {
    service = await openTestService({ flows: ["echo"], target: withFewFiles(faultsTarget()) });
    await service.createWebhook("echo", "echo", { sync_mode: "hold" });
  });
  after(async () => {
    for (const socket of held) socket.destroy();
    await service[Symbol.asyncDispose]();
  });

  async function open(localAddress: string): Promise<Socket> {
    const { port } = service.origin;
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    held.push(socket);
    socket.on("error", () => undefined).resume();
    await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
    return socket;
  }

  test("callers that hold every connection leave runners, threads and the store theirs", async () => {
    assert.match(
      service.logs(),
      /may have 256 files and sockets open, which leaves 128 for callers/,
    );
    const caller = await open("127.0.0.2");
    const answered = once(caller, "data") as Promise<[Buffer]>;
    caller.write(CALL);
    for (let count = 0; count < FILES; count += 1) {
      const socket = await open(`127.0.1.${1 + (count % 8)}`);
      socket.write(BEGINNING);
    }
    await poll("connections beyond the most to be closed", async () =>
      held.filter(({ destroyed }) => destroyed).length >= FILES - MOST ? true : null,
    );
    assert.match(service.logs(), /128 connections are open, as many as may be/);
    for (const pid of service.runners()) process.kill(pid, "SIGKILL");
    caller.write("}");
    const [answer] = await answered;
    assert.match(answer.toString("latin1"), /^HTTP\/1\.1 200 /);
    assert.doesNotMatch(service.logs(), /EMFILE|Cannot start a runner|is broken/);
  });
});

test("fewer than a start needs: the limit is named, without a stack", { skip }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "flowhook-limit-"));
  try {
    const env = { FLOWHOOK_LISTEN_PORT: "0" };
    const { code, stderr } = await runCommand(withFewFiles(faultsTarget(), 32), ["serve"], {
      cwd: folder,
      env,
    });
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^Cannot go on: .+\. Raise how many files may be open: ulimit -n, /m);
    assert.doesNotMatch(stderr, /\n +at /);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

function withFewFiles({ name, command, skip: whyNot }: Target, files = FILES): Target {
  return {
    name,
    command: ["/bin/sh", "-c", `ulimit -n ${files}; exec "$0" "$@"`, ...command],
    skip: whyNot,
  };
}
