import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { SurelyUnsent } from "../../src/shared/wire/surely-unsent.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "flowhook-unsent-"));
after(() => rmSync(FOLDER, { recursive: true }));

/** More than a socket takes at once. */
const BYTES = 100_000;

/** Both ends of a socket, and what was told of the frames that were written to one of them. */
async function openPair(stack: AsyncDisposableStack) {
  const path = join(FOLDER, `${Math.random()}.sock`);
  const server = createServer();
  stack.defer(() => void server.close());
  server.listen(path);
  await once(server, "listening");
  const other = connect(path);
  other.on("error", () => {});
  const [socket] = (await once(server, "connection")) as [Socket];
  socket.on("error", () => {});
  stack.defer(() => void socket.destroy());
  stack.defer(() => void other.destroy());
  const told: string[] = [];
  const frames = new SurelyUnsent(socket);
  const write = (name: number): void =>
    frames.write(Buffer.alloc(BYTES, name), {
      left: () => void told.push(`left ${name}`),
      unsent: () => void told.push(`unsent ${name}`),
    });
  // `once` would reject: that the other end is gone is an error.
  const closed = new Promise((resolve) => socket.on("close", resolve));
  return { closed, other, told, write };
}

test("what has arrived is not unsent, though it was written with what has not", async () => {
  await using stack = new AsyncDisposableStack();
  const { closed, other, told, write } = await openPair(stack);
  for (let name = 0; name < 12; name += 1) write(name);
  let read = 0;
  other.on("data", (chunk: Buffer) => {
    read += chunk.length;
    // Part of one frame more has arrived, and nobody can tell of how many.
    if (read > 4.3 * BYTES) other.destroy();
  });
  await closed;
  const unsent = told.filter((one) => one.startsWith("unsent"));
  for (let name = 0; name < Math.floor(read / BYTES); name += 1)
    assert.ok(!unsent.includes(`unsent ${name}`), `${name} has arrived: ${told.join()}`);
});

test("what is the only thing to be written has not arrived where it fails, nor what comes after it", async () => {
  await using stack = new AsyncDisposableStack();
  const { closed, other, told, write } = await openPair(stack);
  other.pause();
  for (let name = 0; told.length === name && name < 50; name += 1) {
    write(name);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const waiting = told.length;
  write(waiting + 1);
  other.destroy();
  await closed;
  write(waiting + 2);
  const left = Array.from({ length: waiting }, (_, name) => `left ${name}`);
  const unsent = [waiting, waiting + 1, waiting + 2].map((name) => `unsent ${name}`);
  assert.deepEqual(told, [...left, ...unsent]);
});
