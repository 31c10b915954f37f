import assert from "node:assert/strict";
import { argon2Sync, scryptSync } from "node:crypto";
import { test } from "node:test";
import { openHashThread } from "../../src/server/access/hash-thread.ts";

const SALT = Buffer.alloc(16, 7);
const parametersOf = (password: string, memory = 256) => ({
  password,
  salt: SALT,
  bytes: 32,
  cost: { memory, passes: 2, parallelism: 1 },
});
const hashOf = (message: string) =>
  argon2Sync("argon2id", {
    message,
    nonce: SALT,
    memory: 256,
    passes: 2,
    parallelism: 1,
    tagLength: 32,
  });

const termsOf = (client: string, isWanted = () => true) => ({ client, isWanted, size: 0 });

test("each who asks gets the hash of their own password", async () => {
  const thread = openHashThread();
  const words = Array.from({ length: 16 }, (_, at) => `word ${at}`);
  const hashes = await Promise.all(
    words.map((word) => thread.run("argon2id", parametersOf(word), termsOf(word))),
  );
  for (const [at, word] of words.entries())
    assert.deepEqual(Buffer.from(hashes[at] as Uint8Array), hashOf(word));
  const cost = { N: 2, r: 8, p: 1 };
  const given = { password: "x", salt: SALT, bytes: 32, cost };
  const hash = await thread.run("scrypt", given, termsOf("x"));
  assert.deepEqual(Buffer.from(hash), scryptSync("x", SALT, 32, cost));
});

test("what breaks the thread fails whoever asked for it, and nobody after them", async () => {
  const thread = openHashThread();
  const wrong = { ...parametersOf("x"), bytes: -1 };
  const asked = thread.run("argon2id", wrong, termsOf("a"));
  const next = thread.run("argon2id", parametersOf("y"), termsOf("a"));
  await assert.rejects(asked, /cannot be made/);
  assert.deepEqual(Buffer.from(await next), hashOf("y"));
});

test("one client's passwords wait for their turn, those of others do not wait for them", async () => {
  const thread = openHashThread();
  const order: string[] = [];
  const ask = async (client: string) => {
    await thread.run("argon2id", parametersOf(client), termsOf(client));
    order.push(client);
  };
  await Promise.all([...Array.from({ length: 12 }, () => ask("many")), ask("one")]);
  assert.ok(order.indexOf("one") <= 2, order.join(" "));
});

test("what nobody waits for any more is not hashed", async () => {
  const thread = openHashThread();
  let isWanted = true;
  const first = thread.run("argon2id", parametersOf("first"), termsOf("a"));
  const gone = thread.run(
    "argon2id",
    parametersOf("gone"),
    termsOf("b", () => isWanted),
  );
  isWanted = false;
  await Promise.all([first, assert.rejects(gone, { code: "bad_request" })]);
});

test("so many wait and no more, of one client a part of them", async () => {
  const thread = openHashThread();
  const asked: Promise<unknown>[] = [];
  let at = 0;
  for (; thread.hasRoom(`client ${at}`); at += 1)
    asked.push(thread.run("argon2id", parametersOf("x"), termsOf(`client ${at}`)));
  assert.ok(at > 200 && at < 300, String(at));
  await assert.rejects(thread.run("argon2id", parametersOf("x"), termsOf("one more")), {
    code: "too_many_attempts",
  });
  await Promise.all(asked);

  const own = openHashThread();
  const ofOne: Promise<unknown>[] = [];
  while (own.hasRoom("one")) ofOne.push(own.run("argon2id", parametersOf("x"), termsOf("one")));
  assert.ok(ofOne.length < at && own.hasRoom("another"), String(ofOne.length));
  await Promise.all(ofOne);
});

test("the memory of one hash is held after many, and not that of four threads", async () => {
  const thread = openHashThread();
  const before = process.memoryUsage.rss();
  for (let times = 0; times < 24; times += 1)
    await thread.run("argon2id", parametersOf("x", 19_456), termsOf("a"));
  const grown = (process.memoryUsage.rss() - before) / 2 ** 20;
  assert.ok(grown < 60, `${grown} MB`);
});
