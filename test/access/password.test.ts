import assert from "node:assert/strict";
import { test } from "node:test";
import {
  hashPassword,
  newUnmatchedHash,
  verifyPassword,
} from "../../src/server/access/password.ts";

test("a hash is matched by its password alone, and written with what it was made with", async () => {
  const hash = await hashPassword("Zo\u0065\u0308");
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  assert.equal(await verifyPassword("Zo\u00eb", hash), true, "however its letters are composed");
  assert.equal(await verifyPassword("zo\u00eb", hash), false);
  assert.notEqual(await hashPassword("Zo\u00eb"), hash);
});

test("what is compared with where there is no user looks like a hash, and no password has it", async () => {
  const hash = newUnmatchedHash();
  const [, ...parts] = (await hashPassword("")).split("$").slice(0, 4);
  assert.deepEqual(hash.split("$").slice(1, 4), parts, "so that it takes as long");
  assert.equal(await verifyPassword("", hash), false);
});
