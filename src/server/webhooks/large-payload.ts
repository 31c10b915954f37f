import { createHash } from "node:crypto";
import { decodeText } from "../request/body.ts";
import type { ErrorCode } from "../../shared/contract/error.ts";
import { RequestError } from "../../shared/errors.ts";
import type { JobOwner } from "../request/job-thread.ts";
import { toJobOwner, type Call } from "./call.ts";
import { parsePayload, type Parsed, type ParseRules } from "./payload.ts";

/** Large bodies are parsed in another thread, which their bytes move to. */

/** Parses a body there. */
export type ParseLarge = (job: PayloadJob, owner: JobOwner) => Promise<Parsed | Unparsed>;

/** A body and its rules, as they cross to a thread. */
export interface PayloadJob {
  readonly bytes: Uint8Array;
  readonly rules: ParseRules;
}

/** What is wrong with a body that cannot be parsed. */
interface Unparsed {
  readonly code: ErrorCode;
  readonly detail: string;
  /** Of its bytes, which do not come back. */
  readonly sha256: string;
}

/** The thread's side. */
export function readLarge({ bytes, rules }: PayloadJob): Parsed | Unparsed {
  try {
    return parsePayload(decodeText(bytes), rules);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return { code: error.code, detail: error.message, sha256 };
  }
}

/** @throws RequestError bad_body, unsupported_type, overloaded */
export async function parseElsewhere(
  parseLarge: ParseLarge,
  call: Call,
  job: PayloadJob,
): Promise<Parsed> {
  const result = await parseLarge(job, toJobOwner(call));
  if (!("sha256" in result)) return result;
  call.bodyHash = result.sha256;
  throw new RequestError(result.code, result.detail);
}
