import assert from "node:assert/strict";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { test } from "node:test";
import type { Principal } from "../../src/server/access/login.ts";
import { openEventStreams, type EventStream } from "../../src/server/api/event-streams.ts";

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

const MB = 2 ** 20;

/** A stream that nobody has read yet. */
function openStream() {
  const streams = openEventStreams({
    logins: { renew: async () => LISTENER },
    executions: { onStop: () => () => {} },
    heartbeatMs: 3_600_000,
  });
  const outgoing = new ServerResponse(new IncomingMessage(new Socket()));
  const ends: string[] = [];
  let sending: EventStream | null = null;
  const { stream } = streams.open({ principal: LISTENER, outgoing }, (opened) => {
    sending = opened;
    return () => void ends.push("ended");
  });
  const reader = stream.getReader();
  return { sending: sending as unknown as EventStream, reader, outgoing, ends };
}

test("events that come at once wait for their reader, and four megabytes are too many", async () => {
  const { sending, outgoing, ends } = openStream();
  for (let n = 0; n < 3; n += 1) sending.send(new Uint8Array(1.5 * MB));
  assert.deepEqual([sending.isOpen, outgoing.destroyed, ends], [true, false, []]);
  sending.send(new Uint8Array(1));
  assert.deepEqual([sending.isOpen, outgoing.destroyed, ends], [false, true, ["ended"]]);
});

test("who sends more than is held waits until all is taken, or the reader has gone", async () => {
  const { sending, reader } = openStream();
  await reader.read();
  await sending.drained();
  for (let n = 0; n < 2; n += 1) sending.send(new Uint8Array(MB));
  let isDrained = false;
  const drained = sending.drained().then(() => (isDrained = true));
  for (let n = 0; n < 2; n += 1) {
    assert.equal(isDrained, false);
    await reader.read();
  }
  const next = reader.read();
  await drained;
  sending.send(new Uint8Array(1));
  assert.equal((await next).value?.length, 1);
  sending.send(new Uint8Array(MB));
  const gone = sending.drained();
  await reader.cancel();
  await gone;
  assert.equal(sending.isOpen, false);
  await sending.drained();
});
