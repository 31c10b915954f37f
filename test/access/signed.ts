import { createHmac } from "node:crypto";
import { readKey } from "../../src/server/access/signature-key.ts";
import { CUSTOM_DEFAULTS, PRESETS, type Scheme } from "../../src/server/access/signature-scheme.ts";
import type { PresetName } from "../../src/shared/contract/signature-scheme.ts";
import { verifySignature, type SignedRequest } from "../../src/server/access/signature.ts";

/** The time at which everything here is signed. */
export const AT = 1_614_265_330_000;

export interface Judged {
  readonly schemes: readonly Scheme[];
  readonly secrets: readonly string[];
  readonly at?: number;
  readonly toleranceMs?: number;
}

/** Name of the secret that fits, or why none does. */
export function judge(given: Judged, request: Partial<SignedRequest>): string {
  const schemes = given.schemes as readonly [Scheme, ...Scheme[]];
  const keys = given.secrets
    .map((secret, at) => readKey(`s${at}`, secret, schemes[0]))
    .filter((key) => typeof key !== "string");
  const rules = { schemes, keys, toleranceMs: given.toleranceMs ?? 300_000 };
  const whole = { headers: {}, method: "POST", url: null, body: Buffer.alloc(0), ...request };
  const verdict = verifySignature(rules, whole, given.at ?? AT);
  return "error" in verdict ? verdict.error : verdict.secret;
}

export function preset(name: PresetName): readonly Scheme[] {
  return PRESETS[name];
}

export function custom(more: Partial<Scheme> & Pick<Scheme, "header">): readonly Scheme[] {
  return [{ ...CUSTOM_DEFAULTS, algorithm: "hmac-sha256", ...more }];
}

export function hmac(
  key: string | Buffer,
  message: string | Buffer,
  encoding: "hex" | "base64",
  algorithm = "sha256",
): string {
  return createHmac(algorithm, key).update(message).digest(encoding);
}
