import { openPublicKey } from "../access/signature-key.ts";
import {
  verifySignature,
  type SignatureRules,
  type SignedRequest,
  type Verdict,
} from "../access/signature.ts";
import type { JobOwner } from "../request/job-thread.ts";

/**
 * Signatures of large bodies are verified in another thread: each secret hashes the whole body, and
 * one of Ed25519 does so for each candidate that a caller sends.
 */

/** Verifies one there. */
export type VerifyLarge = (job: SignatureJob, owner: JobOwner) => Promise<Verdict>;

/** A request and the rules of its webhook, as they cross to a thread: bytes without their methods. */
export interface SignatureJob {
  readonly rules: SignatureRules;
  readonly request: SignedRequest;
  /** The time now. */
  readonly at: number;
}

/** The thread's side. */
export function verifyThere({ rules, request, at }: SignatureJob): Verdict {
  const keys = rules.keys.map((key) => {
    const bytes = toBuffer(key.bytes);
    return { ...key, bytes, publicKey: key.algorithm === "ed25519" ? openPublicKey(bytes) : null };
  });
  return verifySignature({ ...rules, keys }, { ...request, body: toBuffer(request.body) }, at);
}

export async function verifyElsewhere(
  verifyLarge: VerifyLarge,
  { rules, request, at }: SignatureJob,
  owner: JobOwner,
): Promise<Verdict> {
  // Not every runtime lets an opened key cross.
  const keys = rules.keys.map((key) => ({ ...key, publicKey: null }));
  const verdict = await verifyLarge({ rules: { ...rules, keys }, request, at }, owner);
  return "error" in verdict ? verdict : { ...verdict, fitting: verdict.fitting.map(toBuffer) };
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
