import { createHash } from "node:crypto";
import type { Duplicate, HeldClaim } from "../executions/claims.ts";
import type { Caller } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";

const NEVER = async (): Promise<boolean> => false;

/**
 * Under a scheme that signs a time and an id a signature admits one execution: for twice the
 * tolerance, after which its time is outside. All that fit are kept, so that to leave out one of
 * two makes no fresh signature.
 *
 * @returns null where there is no such window
 */
export async function takeSignature(
  { claims }: CallDeps,
  { signed, webhook }: Caller,
): Promise<HeldClaim | Duplicate | null> {
  if (signed === null || signed.windowMs === null || signed.verified === null) return null;
  const hashes = signed.verified.fitting.map((bytes) =>
    createHash("sha256").update(`signature\n${webhook.id}\n`).update(bytes).digest("hex"),
  );
  return claims.take({
    hashes: [...new Set(hashes)],
    lifeMs: signed.windowMs,
    fingerprint: null,
    isOver: NEVER,
  });
}
