import { createPublicKey, type KeyObject } from "node:crypto";
import type { Algorithm } from "../../shared/contract/signature-scheme.ts";
import type { Scheme } from "./signature-scheme.ts";
import { decodeStrictly } from "./strict-bytes.ts";

/** A secret that signatures are held against. */
export interface SignatureKey {
  /** Name of the secret. */
  readonly name: string;
  readonly algorithm: Algorithm;
  /** Of an HMAC, or the token itself. */
  readonly bytes: Buffer;
  /** Of Ed25519; null for others. */
  readonly publicKey: KeyObject | null;
  /** What its candidates begin with. */
  readonly prefix: string;
}

/** Least length of what a secret is decoded to, in bytes. */
const LEAST_BYTES = 16;
const ED25519_BYTES = 32;
/** Of a secret that is used as it is, in characters. */
const LEAST_TEXT = 8;

/** What no value of a header has: blanks at its ends, and control characters. */
const UNSENDABLE = /^[ \t]|[ \t]$|[^\P{Cc}\t]/u;

/**
 * A secret as a scheme uses it.
 *
 * @returns what is wrong with it, as a text that does not say the secret
 */
export function readKey(name: string, secret: string, scheme: Scheme): SignatureKey | string {
  if (scheme.secret_encoding === "standard_webhooks") return readStandardKey(name, secret, scheme);
  const { algorithm, secret_encoding, prefix } = scheme;
  if (secret_encoding === "utf8" && algorithm !== "ed25519") {
    if (secret.length < LEAST_TEXT) return `expected at least ${LEAST_TEXT} characters`;
    if (algorithm === "token" && UNSENDABLE.test(secret))
      return "expected no blanks at its ends and no line feed, which no header can hold";
    return { name, algorithm, bytes: Buffer.from(secret), publicKey: null, prefix };
  }
  const bytes =
    secret_encoding === "utf8" ? Buffer.from(secret) : decodeStrictly(secret, secret_encoding);
  return toKey({ name, algorithm, prefix }, bytes, secret_encoding);
}

/** `whsec_` is dropped, `whpk_` means Ed25519, and without either it is base64. */
function readStandardKey(name: string, secret: string, scheme: Scheme): SignatureKey | string {
  const [, family = "", digits = secret] = /^(wh[a-z]+_)(.*)$/s.exec(secret) ?? [];
  if (family !== "" && family !== "whsec_" && family !== "whpk_")
    return `expected "whsec_" or "whpk_" and base64`;
  const isPublic = family === "whpk_";
  const algorithm = isPublic ? "ed25519" : scheme.algorithm;
  const prefix = isPublic ? "v1a," : scheme.prefix;
  return toKey({ name, algorithm, prefix }, decodeStrictly(digits, "base64"), "base64");
}

function toKey(
  key: Pick<SignatureKey, "name" | "algorithm" | "prefix">,
  bytes: Buffer | null,
  encoding: string,
): SignatureKey | string {
  if (bytes === null) return `expected ${encoding}`;
  if (key.algorithm !== "ed25519")
    return bytes.length < LEAST_BYTES
      ? `expected ${encoding} of at least ${LEAST_BYTES} bytes`
      : { ...key, bytes, publicKey: null };
  if (bytes.length !== ED25519_BYTES)
    return `expected a public key of Ed25519: ${ED25519_BYTES} bytes as ${encoding}`;
  return { ...key, bytes, publicKey: openPublicKey(bytes) };
}

/** @param bytes of a public key of Ed25519 */
export function openPublicKey(bytes: Buffer): KeyObject {
  const x = bytes.toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}
