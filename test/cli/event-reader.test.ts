import assert from "node:assert/strict";
import { test } from "node:test";
import { readEvents, type ServerEvent } from "../../src/cli/event-reader.ts";

/** @param size bytes that come together */
async function readAll(text: string, size: number): Promise<ServerEvent[]> {
  const bytes = new TextEncoder().encode(text);
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  return Array.fromAsync(readEvents(ReadableStream.from(chunks), () => {}));
}

test("events are read as they were sent, wherever a stream is divided", async () => {
  const text = `retry: 2000\n\nid: 1\nevent: log\ndata: {"text":"a\u2028b"}\n\n: still there\n\ndata: x\r\ndata: y\r\n\r\nid: 3\ndata: cut`;
  const expected = [
    { id: "1", event: "log", data: '{"text":"a\u2028b"}' },
    { id: "1", event: "message", data: "x\ny" },
  ];
  for (const size of [1, 2, 7, 1000]) assert.deepEqual(await readAll(text, size), expected);
});
