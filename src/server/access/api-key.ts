import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** API keys of webhooks and login tokens: 256 random bits, kept as SHA-256 only. */

/** A prefix that secret scanners can find. */
const KEY_PREFIX = "fhk_";
const TOKEN_PREFIX = "fht_";

/** What is generated here, in any text; percent-encoded as well. */
export const GENERATED = /(?:f|%66)(?:h|%68)(?:[kt]|%6b|%74)(?:_|%5f)(?:[\w-]|%[2-7][\da-f]){43}/gi;

export function generateKey(): string {
  return KEY_PREFIX + randomBytes(32).toString("base64url");
}

export function generateToken(): string {
  return TOKEN_PREFIX + randomBytes(32).toString("base64url");
}

/** SHA-256, hexadecimal: enough for 256 random bits, which nobody can guess (no salt needed). */
export function hashKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** What a webhook accepts: its key and, for a while, the replaced one. */
export interface AcceptedKeys {
  readonly key_hash: string | null;
  readonly previous_key_hash: string | null;
  readonly previous_key_until: number | null;
}

/** The key, or the replaced one while it is kept. */
export type KeyKind = "current" | "previous";

/** Whether a text is an accepted key at a time. */
export function isKey(text: string, accepted: AcceptedKeys, at: number): boolean {
  return matchKey(text, accepted, at) !== null;
}

/** Which of the accepted keys a text is at a time; compared in constant time. */
export function matchKey(text: string, accepted: AcceptedKeys, at: number): KeyKind | null {
  const hash = hashKey(text);
  const current = accepted.key_hash !== null && isSame(hash, accepted.key_hash);
  const previous =
    accepted.previous_key_hash !== null &&
    (accepted.previous_key_until ?? 0) > at &&
    isSame(hash, accepted.previous_key_hash);
  if (current) return "current";
  return previous ? "previous" : null;
}

/** Whether two texts are the same, in a time that depends on their lengths alone. */
export function isSame(one: string, other: string): boolean {
  const a = Buffer.from(one);
  const b = Buffer.from(other);
  return a.length === b.length && timingSafeEqual(a, b);
}
