import { createHash } from "node:crypto";
import { decodeText } from "../request/body.ts";
import type { ErrorCode } from "../../shared/contract/error.ts";
import { RequestError } from "../../shared/errors.ts";
import type { JobOwner } from "../request/job-thread.ts";
import { toJobOwner, type Call } from "./call.ts";
import { parsePayload, type Parsed, type ParseRules } from "./payload.ts";

/** Large bodies are parsed in another thread, which their bytes move to. */

/** Parses a body there. */
export type ParseLarge = (
  job: PayloadJob,
  owner: JobOwner,
) => Promise<(Parsed | Unparsed) & Hashed>;

/** A body and its rules, as they cross to a thread. */
export interface PayloadJob {
  readonly bytes: Uint8Array;
  readonly rules: ParseRules;
  /** Whether the call is refused where the body does not carry the key. */
  readonly isKeyed: boolean;
}

/** What is wrong with a body that cannot be parsed. */
interface Unparsed {
  readonly code: ErrorCode;
  readonly detail: string;
}

/** SHA-256 of the bytes, which do not come back, where the call is refused for them. */
interface Hashed {
  readonly sha256?: string;
}

/** The thread's side. */
export function readLarge({ bytes, rules, isKeyed }: PayloadJob): (Parsed | Unparsed) & Hashed {
  try {
    const parsed = parsePayload(decodeText(bytes), rules);
    return isKeyed && parsed.key === null ? { ...parsed, sha256: hash(bytes) } : parsed;
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return { code: error.code, detail: error.message, sha256: hash(bytes) };
  }
}

function hash(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/**
 * @param text of the body, for the list of refused calls: what comes here may be refused later
 * @throws RequestError bad_body, unsupported_type, overloaded */
export async function parseElsewhere(
  parseLarge: ParseLarge,
  call: Call,
  text: string,
  job: PayloadJob,
): Promise<Parsed> {
  const { sha256, ...result } = await parseLarge(job, toJobOwner(call));
  if (sha256 === undefined) call.movedText = text;
  else call.bodyHash = sha256;
  if ("code" in result) throw new RequestError(result.code, result.detail);
  return result;
}
