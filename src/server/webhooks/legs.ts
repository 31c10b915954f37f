import { isSame } from "../access/api-key.ts";
import { sign } from "../access/data-key.ts";
import { now } from "../../shared/clock.ts";
import { isId } from "../../shared/id.ts";
import { isReplacing } from "./call-limits.ts";
import type { CallTarget } from "./target.ts";
import { ASYNC, KEY, WAIT, withoutParameters } from "./target.ts";

/**
 * The legs of a synchronous call (section 4.4): where they lead, and how the later ones are
 * admitted although clients drop credentials on a redirect.
 */
export interface Legs {
  /**
   * Value of `__wait_execution_id` for an execution of a webhook.
   *
   * @param issued_at where that may be long after its end: the value holds from then on
   */
  toValue(executionId: string, webhook: KeyedWebhook, issuedAt?: number | null): string;
  /** The execution that a value names; null where it names none. */
  toExecutionId(value: string): string | null;
  /** Whether the value carries a signature of this service that holds for what admits here. */
  isSigned(value: string, webhook: KeyedWebhook): boolean;
}

export interface KeyedWebhook {
  readonly id: string;
  readonly key_hash: string | null;
  readonly previous_key_hash: string | null;
  readonly previous_key_until: number | null;
  /** How its calls are signed; null: they need not be. */
  readonly signature: string | null;
  readonly signature_revision: number;
  readonly limits: string | null;
}

/** How long after the end of an execution a signature still admits. */
export const SIGNATURE_LIFE_MS = 10 * 60 * 1000;

/** @param key derived from the data folder's key */
export function openLegs(key: Buffer): Legs {
  const signatureOf = (signed: string, webhook_id: string, credentials: string): string =>
    sign(key, `${signed}\n${webhook_id}\n${credentials}`);
  return {
    toValue(executionId, webhook, issuedAt = null) {
      if (!isSigning(webhook)) return executionId;
      const signed = issuedAt === null ? executionId : `${executionId}.${issuedAt}`;
      const credentials = credentialsOf(webhook.key_hash, webhook);
      return `${signed}.${signatureOf(signed, webhook.id, credentials)}`;
    },
    toExecutionId(value) {
      const id = value.split(".")[0] ?? "";
      return isId(id) ? id : null;
    },
    isSigned(value, webhook) {
      const end = value.lastIndexOf(".");
      if (end < 0) return false;
      const [signed, signature] = [value.slice(0, end), value.slice(end + 1)];
      return validHashes(webhook).some((hash) =>
        isSame(signature, signatureOf(signed, webhook.id, credentialsOf(hash, webhook))),
      );
    },
  };
}

/** Without a credential, where the id alone is told to others than the caller. */
function isSigning(webhook: KeyedWebhook): boolean {
  return webhook.key_hash !== null || webhook.signature !== null || isReplacing(webhook);
}

/** When a signed value was issued, where it says so; 0: with its execution. */
export function issueOf(value: string): number {
  const [, issuedAt, signature] = value.split(".");
  return signature === undefined ? 0 : Number(issuedAt);
}

/** A signature of a leg is void when what admitted the call is: it was made over it. */
function credentialsOf(key_hash: string | null, webhook: KeyedWebhook): string {
  const key = key_hash ?? "";
  return webhook.signature === null ? key : `${key}\n${webhook.signature_revision}`;
}

function validHashes(webhook: KeyedWebhook): (string | null)[] {
  const { key_hash, previous_key_hash, previous_key_until } = webhook;
  if (key_hash === null) return isSigning(webhook) ? [null] : [];
  const isKept = previous_key_hash !== null && (previous_key_until ?? 0) > now();
  return isKept ? [key_hash, previous_key_hash] : [key_hash];
}

/**
 * The relative reference of the next leg (RFC 3986, section 4.2): right behind any proxy and
 * prefix, with the same query but for the key, which does not belong in a Location.
 */
export function toLocation(target: CallTarget, value: string): string {
  const kept = withoutParameters(target.query, [KEY, WAIT]);
  const query = `?${kept === "" ? "" : `${kept}&`}${WAIT}=${value}`;
  // A dot segment would be resolved by the client; a reference of a query alone keeps the path.
  return isDotSegment(target.lastSegment) ? query : `./${target.lastSegment}${query}`;
}

function isDotSegment(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment);
}

/** How to make the same call with `async`, as a hint for people: of several the first counts. */
export function toAsyncHint({ query }: CallTarget): string {
  if (new URLSearchParams(query).has(ASYNC)) return `set ${ASYNC}=1 in the URL`;
  return `add ${query === "" ? "?" : "&"}${ASYNC} to the URL`;
}
