import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { describe, test } from "node:test";
import { runCommand, type Finished } from "../blackbox/command.ts";
import { openTarget } from "../blackbox/target.ts";
import { openWorkplace } from "./dev-session.ts";
import { all } from "./session.ts";

const target = openTarget();

/** Runs a flow in a folder of flows whose service is what `serve` makes of each connection. */
async function runBeside(server: Server, ...args: string[]): Promise<Finished> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { port: number };
  await using place = await openWorkplace({
    "plugins/hello.ts": "export default () => 'hi';\n",
    "flowhook.yaml": `LISTEN_PORT: ${port}\n`,
  });
  // What listens there no longer is a service that was stopped.
  if (server.listenerCount("connection") === 0) server.close();
  try {
    const env = { XDG_CONFIG_HOME: place.folder, FLOWHOOK_TOKEN: "fht_of-somebody" };
    const url = args.includes("--url") ? [`http://127.0.0.1:${port}`] : [];
    const words = ["flow", "run", "hello", ...args, ...url];
    return await runCommand(target, words, { cwd: place.folder, env });
  } finally {
    server.close();
  }
}

/** Takes a request, and then breaks the connection. */
function breaking(end: (socket: Socket) => void): Server {
  return createServer((socket) => {
    socket.on("error", () => {}).once("data", () => end(socket));
  });
}

describe("flow run where no answer comes", { skip: target.skip ?? false }, () => {
  const BREAKS: Record<string, (socket: Socket) => void> = {
    "the connection is reset": (socket) => socket.resetAndDestroy(),
    "the connection is closed": (socket) => socket.end(),
    "the answer breaks off": (socket) =>
      socket.end(
        "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
      ),
  };
  for (const [what, end] of Object.entries(BREAKS))
    test(`${what}: it may run there, and does not run here`, async () => {
      const finished = await runBeside(breaking(end));
      assert.equal(finished.code, 1, all(finished));
      assert.equal(finished.stdout, "", "it ran here as well");
      const look = /\nIt may run there all the same\. .*: flowhook execution list --flow hello\n$/;
      assert.match(finished.stderr, look);
    });

  test("a service that was named is named again", async () => {
    const finished = await runBeside(
      breaking((socket) => socket.resetAndDestroy()),
      "--url",
    );
    assert.match(finished.stderr, /^No answer of http:.*\n.*--flow hello --url http:\S+\n$/);
  });

  test("nobody is there: it runs here", async () => {
    const finished = await runBeside(createServer());
    assert.deepEqual([finished.code, finished.stdout], [0, '"hi"\n'], all(finished));
    assert.match(finished.stderr, /^Cannot reach http:.*: it runs here\n$/);
  });
});
