import assert from "node:assert/strict";
import { test } from "node:test";
import {
  hashPassword,
  newUnmatchedHash,
  verifyPassword,
} from "../../src/server/access/password.ts";

const OWNER = { client: "127.0.0.1", isWanted: () => true, isLoggedIn: false };

test("a hash is matched by its password alone, and written with what it was made with", async () => {
  const hash = await hashPassword("Zo\u0065\u0308");
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  assert.equal(
    await verifyPassword("Zo\u00eb", hash, OWNER),
    true,
    "however its letters are composed",
  );
  assert.equal(await verifyPassword("zo\u00eb", hash, OWNER), false);
  assert.notEqual(await hashPassword("Zo\u00eb"), hash);
});

test("what is compared with where there is no user looks like a hash, and no password has it", async () => {
  const hash = newUnmatchedHash();
  const [, ...parts] = (await hashPassword("")).split("$").slice(0, 4);
  assert.deepEqual(hash.split("$").slice(1, 4), parts, "so that it takes as long");
  assert.equal(await verifyPassword("", hash, OWNER), false);
});

test("a hash of an algorithm that this runtime lacks says what to do", async () => {
  const stored = `$md5$x$c2FsdA$${"A".repeat(43)}`;
  await assert.rejects(verifyPassword("x", stored, OWNER), /flowhook user password/);
});

test("who is logged in does not wait for strangers", async () => {
  const hash = await hashPassword("own");
  const order: string[] = [];
  const check = async (client: string, isLoggedIn: boolean) => {
    await verifyPassword("own", hash, { client, isWanted: () => true, isLoggedIn });
    order.push(isLoggedIn ? "user" : "stranger");
  };
  const strangers = Array.from({ length: 20 }, (_, at) => check(`10.0.0.${at}`, false));
  await Promise.all([...strangers, check("ada", true)]);
  assert.ok(order.indexOf("user") < 10, order.join(" "));
});
