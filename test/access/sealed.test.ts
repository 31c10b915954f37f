import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { generateKey, hashKey, isKey } from "../../src/server/access/api-key.ts";
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
