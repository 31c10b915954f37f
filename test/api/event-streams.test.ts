import assert from "node:assert/strict";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { test } from "node:test";
import type { Principal } from "../../src/server/access/login.ts";
import { openEventStreams } from "../../src/server/api/event-streams.ts";

const LISTENER: Principal = {
  user_id: "u",
  user_name: "u",
  email: "",
  roles: [],
  grants: [{ permission: "execution.read", project_id: null }],
  tokenId: "t",
  address: "127.0.0.1",
};

test("a stream that has nothing to tell says that it lives, until its login ends", async () => {
  let renewed = 0;
  const streams = openEventStreams({
    logins: { renew: async () => ((renewed += 1) < 3 ? LISTENER : null) },
    executions: { onStop: () => () => {} },
    heartbeatMs: 1,
  });
  const outgoing = new ServerResponse(new IncomingMessage(new Socket()));
  const { stream } = streams.open({ principal: LISTENER, outgoing }, () => () => {});
  const text = await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text();
  assert.equal(renewed, 3);
  const [first, ...beats] = text.split("\n\n");
  assert.equal(first, "retry: 2000");
  assert.deepEqual(beats.slice(0, 3), Array(3).fill("event: heartbeat\ndata: null"));
});
