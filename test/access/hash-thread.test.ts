import assert from "node:assert/strict";
import { argon2Sync } from "node:crypto";
import { test } from "node:test";
import { HashThread } from "../../src/server/access/hash-thread.ts";

const parametersOf = (message: string, memory = 256) => ({
  message,
  nonce: Buffer.alloc(16, 7),
  memory,
  passes: 2,
  parallelism: 1,
  tagLength: 32,
});

test("each who asks gets the hash of their own password", async () => {
  const thread = new HashThread();
  const words = Array.from({ length: 40 }, (_, at) => `word ${at}`);
  const hashes = await Promise.all(words.map((word) => thread.hash(parametersOf(word))));
  for (const [at, word] of words.entries())
    assert.deepEqual(hashes[at], argon2Sync("argon2id", parametersOf(word)));
});

test("what breaks the thread fails those who wait, and nobody after them", async () => {
  const thread = new HashThread();
  const wrong = { ...parametersOf("x"), tagLength: -1 };
  const asked = [thread.hash(wrong), thread.hash(parametersOf("y"))];
  const settled = await Promise.allSettled(asked);
  assert.deepEqual(
    settled.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  const word = parametersOf("z");
  assert.deepEqual(await thread.hash(word), argon2Sync("argon2id", word));
});

test("the memory of one hash is held after many, and not that of four threads", async () => {
  const thread = new HashThread();
  const before = process.memoryUsage.rss();
  for (let times = 0; times < 24; times += 1) await thread.hash(parametersOf("x", 19_456));
  const grown = (process.memoryUsage.rss() - before) / 2 ** 20;
  assert.ok(grown < 60, `${grown} MB`);
});
