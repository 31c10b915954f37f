import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { FrameReader, toFrame } from "../../src/shared/wire/frames.ts";

test("frames are read in whatever pieces they come", () => {
  const texts = ["", "a", "ä".repeat(30_000), "x".repeat(100_000), "last"];
  const bytes = Buffer.concat(texts.map((text) => toFrame("token", text)));
  for (const size of [1, 3, 1000, 70_000, bytes.length]) {
    const frames = new FrameReader("token");
    const read: string[] = [];
    for (let at = 0; at < bytes.length; at += size)
      read.push(...frames.complete(bytes.subarray(at, at + size)));
    assert.deepEqual(read, texts, `in pieces of ${size} bytes`);
  }
});

test("a frame that comes byte by byte takes little more memory than its bytes", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const used = (): number => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const readBytes = (): FrameReader => {
    const frames = new FrameReader("");
    frames.complete(Buffer.from([0, 16, 0, 0]));
    for (let count = 0; count < 300_000; count += 1) frames.complete(Buffer.alloc(1));
    return frames;
  };
  // What the engine makes of the code itself is there before.
  readBytes();
  const before = used();
  const frames = readBytes();
  const after = used();
  assert.ok(after - before < 3_000_000, `${after - before} bytes`);
  assert.throws(() => frames.complete(Buffer.alloc(2 ** 21, 255)), /claims \d+ bytes/);
});
