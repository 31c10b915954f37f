import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { raw, send } from "../blackbox/client.ts";
import { poll } from "../blackbox/scenario.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** What cannot be read within a request's body or behind it, and who is told of it. */

interface Refusal {
  readonly code: string;
  readonly status: number;
  readonly detail: string;
  readonly request_id: string;
}

describe("bytes that cannot be read", () => {
  let service: TestService;
  before(async () => {
    service = await openTestService({ flows: ["echo", "sleep"], config: { MAX_BODY_BYTES: 1000 } });
    const held = { is_productive: true, sync_mode: "hold" };
    await service.createWebhook("slept", "sleep", held);
    await service.createWebhook("echoed", "echo", held);
  });
  after(() => service[Symbol.asyncDispose]());

  async function figureOf(name: string, labels: string): Promise<number> {
    const { text } = await send(service.origin, { target: "/metrics" });
    return Number(new RegExp(`^${name}\\{${labels}\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  }

  const refusals = (code: string): Promise<number> =>
    figureOf("flowhook_refusals_total", `code="${code}"`);

  async function lastEnding(): Promise<string | null> {
    const { text } = await service.api("GET", "/execution?webhook=slept&limit=1");
    const { items } = JSON.parse(text) as { items: { status: string }[] };
    const status = items[0]?.status ?? "";
    return status.startsWith("ENDED") ? status : null;
  }

  test("behind a body they take its call's answer from nobody", async () => {
    const before = await refusals("bad_request");
    const answer = await raw(
      service.origin,
      `POST ${toCall("slept")}?ms=300 HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}}\r\n`,
    );
    assert.match(answer, /^HTTP\/1\.1 200 /);
    assert.match(answer, /\r\nconnection: close\r\n/i);
    assert.equal(answer.split("HTTP/1.1 ").length, 2, "one answer");
    assert.equal(await refusals("bad_request"), before + 1);
    assert.equal(await poll("its execution to end", lastEnding), "ENDED_SUCCESS");
  });

  test("of a body that was refused before its end nothing is told again", async () => {
    const before = [await refusals("body_too_large"), await refusals("bad_request")];
    const socket = await open();
    const answered = read(socket);
    socket.write(
      `POST ${toCall("echoed")} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{`,
    );
    await once(socket, "data");
    socket.end();
    const answer = await answered;
    assert.match(answer, /^HTTP\/1\.1 413 /);
    assert.equal(answer.split("HTTP/1.1 ").length, 2, "one answer");
    const after = [await refusals("body_too_large"), await refusals("bad_request")];
    assert.deepEqual(after, [before[0]! + 1, before[1]]);
  });

  test("behind a request that was answered before its body's end they are answered too", async () => {
    const socket = await open();
    const answered = read(socket);
    socket.write(`POST ${toCall("nobody")} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n`);
    await once(socket, "data");
    socket.write("{}GET / HTTP/9\r\n\r\n");
    assert.match(await answered, /^HTTP\/1\.1 404 [^]*HTTP\/1\.1 400 /);
  });

  test("within a body they are told its caller and the operator alike", async () => {
    const answer = await raw(
      service.origin,
      `POST ${toCall("echoed")} HTTP/1.1\r\nHost: a\r\nX-Request-Id: chunk-size\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`,
    );
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, /\r\nx-request-id: chunk-size\r\n/i);
    assert.match(answer, /urn:flowhook:error:bad_body".*chunk size/);
    const { text } = await service.api("GET", "/webhook/echoed/refusal");
    const { items } = JSON.parse(text) as { items: Refusal[] };
    const found = items.find(({ request_id }) => request_id === "chunk-size");
    assert.equal(found?.code, "bad_body");
    assert.equal(found.status, 400);
  });

  test("who was gone before the answer counts as no success", async () => {
    const labels = (status: string): string => `webhook="slept",status="${status}"`;
    const answers = (status: string): Promise<number> =>
      figureOf("flowhook_calls_total", labels(status));
    const before = [await answers("2xx"), await answers("4xx")];
    const socket = await open();
    socket.write(`GET ${toCall("slept")}?ms=60000 HTTP/1.1\r\nHost: a\r\n\r\n`);
    await poll("it to run", async () => ((await lastEnding()) === null ? true : null));
    socket.destroy();
    assert.equal(await poll("its execution to end", lastEnding), "ENDED_CANCELLED");
    assert.deepEqual([await answers("2xx"), await answers("4xx")], [before[0], before[1]! + 1]);
  });

  async function open(): Promise<Socket> {
    const socket = connect(service.origin.port, service.origin.host);
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  }
});

function toCall(webhook: string): string {
  return `/api/latest/webhook/${webhook}/call`;
}

async function read(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  await once(socket, "close");
  return text;
}
