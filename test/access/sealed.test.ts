import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { generateKey, hashKey, isKey } from "../../src/server/access/api-key.ts";
import { hashPassword, verifyPassword } from "../../src/server/access/password.ts";
import { openSecretBox } from "../../src/server/access/secret-box.ts";

test("a sealed secret opens with its key and its name alone, and only unchanged", () => {
  const box = openSecretBox(randomBytes(32));
  const sealed = box.seal("NAME", "välue");
  assert.equal(box.open("NAME", sealed), "välue");
  assert.notEqual(box.seal("NAME", "välue"), sealed, "no two are alike");
  assert.throws(() => box.open("OTHER", sealed));
  assert.throws(() => openSecretBox(randomBytes(32)).open("NAME", sealed));
  const bytes = Buffer.from(sealed, "base64");
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    assert.throws(() => box.open("NAME", changed.toString("base64")), `byte ${at}`);
  }
});

test("a password hash names its algorithm, and verifies the password in whatever form", async () => {
  const hash = await hashPassword("pässword of words");
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  assert.ok(await verifyPassword("pässword of words".normalize("NFD"), hash));
  assert.ok(!(await verifyPassword("password of words", hash)));
  assert.ok(!(await verifyPassword("", hash)));
  assert.notEqual(await hashPassword("pässword of words"), hash);
  await assert.rejects(
    verifyPassword("x", `$md5$x$c2FsdA$${"A".repeat(43)}`),
    /flowhook user password/,
  );
});

test("a key has 256 random bits and a prefix, and is known by its hash", () => {
  const [key, other] = [generateKey(), generateKey()];
  assert.match(key, /^fhk_[\w-]{43}$/);
  const accepted = {
    key_hash: hashKey(key),
    previous_key_hash: hashKey(other),
    previous_key_until: 1000,
  };
  assert.ok(isKey(key, accepted, 5000));
  assert.ok(isKey(other, accepted, 999));
  assert.ok(!isKey(other, accepted, 1000), "the replaced key has its time");
  assert.ok(!isKey(hashKey(key), accepted, 0), "a hash is no key");
  assert.ok(!isKey("", { ...accepted, key_hash: null }, 5000));
});
