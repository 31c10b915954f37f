import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "../access/login.ts";
import { networkOf } from "../access/network.ts";
import type { RightSignature } from "../access/signature.ts";
import type { JobOwner } from "../request/job-thread.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import type { Parsed, Payload } from "./payload.ts";
import type { Bucket } from "./rate-limit.ts";
import type { CallTarget } from "./target.ts";

/**
 * The types at the doors of a call. Each holds the one before it and is made by one step
 * only, so that no step can be skipped:
 *
 *     Call --match--> MatchedCall --authenticate--> Caller --admit--> Admission
 *
 * Behind the last its execution begins. From then on it is a FollowingCall, which may wait for long:
 * of all these it holds the MatchedCall alone.
 */

/** A request to the call endpoint, as it came. */
export interface Call {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly method: string;
  readonly target: CallTarget;
  readonly query: URLSearchParams;
  /** The client's address, for the log and the slow-down of failures. */
  readonly address: string;
  /** Echoed by the answer, and in the lines of the log. */
  readonly request_id: string;
  /** Its body, once it was read, until its execution begins; for the list of refused calls. */
  body: Buffer | null;
  /** As text, where its bytes have moved to another thread; for the same. */
  movedText: string | null;
  /** Bytes that it had: large ones are moved to the thread that parses them. */
  body_bytes: number;
  /** SHA-256, where calls are compared or a large body is refused by its thread; null: not made. */
  bodyHash: string | null;
  /** Of its webhook's rate, once it took a token of it. */
  bucket: Bucket | null;
  /** Keys and tokens that were found right; for that list as well. */
  secrets: readonly string[];
}

/** Whose turn it is where the call's body is parsed with those of others. */
export function toJobOwner({ address, outgoing }: Call): JobOwner {
  return { client: networkOf(address), isWanted: () => !outgoing.destroyed };
}

/** A call of an enabled webhook. */
export interface MatchedCall {
  readonly call: Call;
  readonly webhook: WebhookRow;
}

/** A body that has been read; before the key was checked, because it may carry the key. */
export interface ReadBody {
  readonly bytes: Buffer;
  readonly text: string;
  /** null: not yet, or it cannot be. */
  readonly parsed: Parsed | null;
  /** Held back until its turn in the order of checks. */
  readonly error: Error | null;
}

/** A call whose login and key, as far as they are required, were right. */
export interface Caller extends MatchedCall {
  readonly principal: Principal | null;
  /** null: not read yet. */
  readonly body: ReadBody | null;
  /** Whether the signature of an earlier leg admitted it, and not the key itself. */
  readonly isBySignature: boolean;
  /** The keys of its webhook that came with it. */
  readonly keys: readonly string[];
  /** Keys and tokens that came with it, for nobody behind this door to see. */
  readonly secrets: readonly string[];
  /** What was found of its signature; null: none is wanted, or it is a re-entry. */
  readonly signed: SignedCall | null;
}

/** A call of a webhook that wants signatures. */
export interface SignedCall {
  readonly scheme: string;
  /** The signature_revision of its webhook that it was held against. */
  readonly revision: number;
  /** null: it was wrong, and is only observed. */
  readonly verified: RightSignature | null;
  /** The header that holds the secret itself; null: none does. */
  readonly secretHeader: string | null;
  /** How long the signature admits nothing else; null: it has no such window. */
  readonly windowMs: number | null;
}

/** A call that asks for a word back, and starts nothing. */
export interface Handshake {
  readonly challenge: string;
}

/** A call that may start an execution, with the input that the execution will receive. */
export interface Admission extends Caller {
  /** null: without a body. */
  readonly payload: Payload | null;
  readonly input: {
    readonly input_value: string;
    readonly raw_body_at: number | null;
    readonly raw_body: string | null;
    readonly target: string;
  };
}

/** The bytes of a body are known until its execution begins; large ones are moved to another thread. */
export function noteBody(call: Call, webhook: WebhookRow, bytes: Buffer): void {
  call.body = bytes;
  call.body_bytes = bytes.length;
  if (webhook.idempotency !== null)
    call.bodyHash = createHash("sha256").update(bytes).digest("hex");
}

/** What waits holds no body. */
export function forgetBody(call: Call): void {
  call.body = null;
  call.movedText = null;
}
