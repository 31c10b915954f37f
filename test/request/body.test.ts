import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { openBodies } from "../../src/server/request/body.ts";

const LIMIT = { bytes: 10, what: "" };
const bodies = openBodies(1024, () => "a client");

/** What the server makes of a request to it; the answer is empty. */
async function receive<T>(
  send: (url: string) => void,
  act: (incoming: IncomingMessage) => Promise<T>,
): Promise<T> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  send(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const [incoming, outgoing] = await once(server, "request");
  try {
    return await act(incoming);
  } finally {
    outgoing.end();
    server.close();
    server.closeAllConnections();
  }
}

function post(body: string): (url: string) => void {
  const headers = { "transfer-encoding": "chunked" };
  return (url) =>
    request(url, { method: "POST", headers })
      .on("error", () => {})
      .end(body);
}

for (const body of ["", "some"])
  test(`a body that was read is not waited for again: "${body}"`, async () => {
    const read = await receive(post(body), async (incoming) => {
      const first = await bodies.read(incoming, LIMIT);
      return [first?.toString() ?? null, await bodies.read(incoming, LIMIT)];
    });
    assert.deepEqual(read, [body === "" ? null : body, null]);
  });

test("a body that was refused is refused again, and for the same", async () => {
  await receive(post("x".repeat(11)), async (incoming) => {
    await assert.rejects(bodies.read(incoming, LIMIT), { code: "body_too_large" });
    await assert.rejects(bodies.read(incoming, LIMIT), { code: "body_too_large" });
  });
});

test("a body of who has left already is not waited for", async () => {
  let left = (): void => assert.fail("it was not sent");
  const send = (url: string): void => {
    const sent = request(url, { method: "POST" }).on("error", () => {});
    sent.write("a part");
    left = () => sent.destroy();
  };
  await receive(send, async (incoming) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    incoming.on("error", () => {}).on("close", resolve);
    left();
    await promise;
    await assert.rejects(bodies.read(incoming, LIMIT), { code: "bad_body" });
  });
});
