import assert from "node:assert/strict";
import { test } from "node:test";
import { readKey } from "../../src/server/access/signature-key.ts";
import type { Scheme } from "../../src/server/access/signature-scheme.ts";
import { decodeBase64, decodeHex } from "../../src/server/access/strict-bytes.ts";
import { custom, preset } from "./signed.ts";

const b64 = (bytes: number) => Buffer.alloc(bytes, 0xfb).toString("base64");
const standard = preset("standard_webhooks");
const hex = custom({ header: "x", secret_encoding: "hex" });
const base64 = custom({ header: "x", secret_encoding: "base64" });
const token = preset("gitlab_token");
const ed25519 = custom({ header: "x", algorithm: "ed25519", secret_encoding: "base64" });

const KEYS: readonly (readonly [
  what: string,
  schemes: readonly Scheme[],
  secret: string,
  isUsable: boolean,
])[] = [
  ["16 bytes", standard, `whsec_${b64(16)}`, true],
  ["16 bytes without a prefix", standard, b64(16), true],
  ["15 bytes", standard, `whsec_${b64(15)}`, false],
  ["nothing", standard, "whsec_", false],
  ["nothing at all", standard, "", false],
  ["no base64", standard, "whsec_not base64 but long enough!", false],
  ["both alphabets", standard, `whsec_+-${"A".repeat(22)}`, false],
  ["a private key", standard, `whsk_${b64(32)}`, false],
  ["a public key", standard, `whpk_${b64(32)}`, true],
  ["a public key of 31 bytes", standard, `whpk_${b64(31)}`, false],
  ["8 characters", preset("github"), "12345678", true],
  ["7 characters", preset("github"), "1234567", false],
  ["an HMAC with a line feed", preset("github"), "12345678\n", true],
  ["a token with blanks and tabs in it", token, "1234 \t5678é", true],
  ["a token with a line feed", token, "12345678\n", false],
  ["a token with a line feed in it", token, "1234\n5678", false],
  ["a token with a blank before it", token, " 12345678", false],
  ["a token with a tab behind it", token, "12345678\t", false],
  ["whsec_ of Stripe, as it is", preset("stripe"), "whsec_ab", true],
  ["hexadecimal", hex, "0f".repeat(16), true],
  ["too little hexadecimal", hex, "0f".repeat(15), false],
  ["half a byte", hex, `${"0f".repeat(16)}0`, false],
  ["base64", base64, b64(16), true],
  ["a public key of a custom scheme", ed25519, b64(32), true],
  ["a public key that is too long", ed25519, b64(33), false],
];

for (const [what, [scheme], secret, isUsable] of KEYS)
  test(`a secret of ${what} is ${isUsable ? "" : "not "}usable`, () => {
    assert.ok(scheme);
    const key = readKey("name", secret, scheme);
    assert.equal(typeof key !== "string", isUsable, String(key));
    if (typeof key === "string" && secret !== "") assert.ok(!key.includes(secret));
  });

test("base64 and hexadecimal are decoded strictly", () => {
  for (const [text, bytes] of [
    ["", 0],
    ["QQ==", 1],
    ["QQ", 1],
    ["QUI=", 2],
    ["-_-_", 3],
    ["+/+/", 3],
  ] as const)
    assert.equal(decodeBase64(text)?.length, bytes, text);
  for (const text of [
    "Q",
    "QR==",
    "QQ=",
    "QQ===",
    "Q=Q=",
    "QQ==QQ==",
    "+_+_",
    " QQ==",
    "Q\nQ=",
    "é",
  ])
    assert.equal(decodeBase64(text), null, text);
  assert.equal(decodeHex("aF09")?.length, 2);
  for (const text of ["a", "0x", "0g", " 00"]) assert.equal(decodeHex(text), null, text);
});
