import { createHash } from "node:crypto";
import type { Idempotency } from "../../shared/contract/idempotency.ts";
import { ENDINGS } from "../../shared/contract/status.ts";
import { findScheme } from "../access/signature.ts";
import { deliveryOf, schemesOf, type SignatureMember } from "../access/signature-scheme.ts";
import { isOther, type Duplicate, type HeldClaim } from "../executions/claims.ts";
import { RequestError } from "../../shared/errors.ts";
import { findHeader } from "../request/sent-header.ts";
import { findExecution } from "../store/executions.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { toJobOwner, type Admission } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";
import { findScalar, isExact } from "./json-pointer.ts";
import { isJsonType, mediaTypeOf } from "./payload.ts";
import { ASYNC, KEY, WAIT, withoutParameters } from "./target.ts";

/**
 * Takes the key of a call for its webhook, and for the user where a login is required.
 *
 * @returns null where it has none, and need not have one
 * @throws RequestError bad_idempotency_key, idempotency_mismatch
 */
export async function takeKey(
  deps: CallDeps,
  admission: Admission,
): Promise<HeldClaim | Duplicate | null> {
  const { webhook, principal } = admission;
  if (webhook.idempotency === null) return null;
  const rules = JSON.parse(webhook.idempotency) as Idempotency;
  const key = await readKey(deps, rules, admission);
  if (key === null) return null;
  const scope = ["key", webhook.id, principal?.user_id ?? "", key].join("\n");
  const take = (fingerprint: string | null): Promise<HeldClaim | Duplicate> =>
    deps.claims.take({
      hashes: [createHash("sha256").update(scope).digest("hex")],
      lifeMs: rules.window_sec * 1000,
      fingerprint,
      isOver: (id) => isOver(deps, rules, id),
    });
  const fingerprints = rules.compare ? toFingerprints(admission) : [null];
  for (const fingerprint of fingerprints) {
    const taken = await take(fingerprint);
    if (!("executionId" in taken) || !isOther(fingerprint, taken.fingerprint)) return taken;
  }
  throw new RequestError(
    "idempotency_mismatch",
    "The idempotency key was used for another call: method, path, query or body differ",
  );
}

/** @throws RequestError bad_idempotency_key */
async function readKey(
  deps: Pick<CallDeps, "findLarge">,
  { from, required }: Idempotency,
  admission: Admission,
): Promise<string | null> {
  const sent = await readSent(deps, from, admission);
  if (sent === undefined && required)
    throw refuse(`Expected an idempotency key (${from}), but there is none`);
  return sent === undefined ? null : toKey(sent, from);
}

const USABLE = /^[\x21-\x7e]{1,255}$/;

function toKey(sent: unknown, from: string): string {
  if (typeof sent === "number" && !isExact(sent))
    throw refuse(`The idempotency key (${from}) is a number that is not read exactly: send a text`);
  const text = typeof sent === "number" ? String(sent) : sent;
  // The quotes of a structured field (RFC 8941, section 3.3.3).
  const key = typeof text === "string" ? text.trim().replace(/^"(.*)"$/, "$1") : "";
  if (USABLE.test(key)) return key;
  throw refuse(`The idempotency key (${from}) is not 1 to 255 visible ASCII characters`);
}

function refuse(detail: string): RequestError {
  return new RequestError("bad_idempotency_key", detail);
}

/** undefined: it is not there. */
async function readSent(
  deps: Pick<CallDeps, "findLarge">,
  from: string,
  admission: Admission,
): Promise<unknown> {
  const { call, webhook, payload } = admission;
  const source = from === "scheme" ? deliveryOfCall(webhook, admission) : from;
  if (source === null) return undefined;
  const [kind = "", name = ""] = source.split(/:(.*)/s);
  if (kind === "header") return findHeader(call.incoming.headers, name);
  if (kind === "query") return call.query.get(name) ?? undefined;
  if (payload === null) return undefined;
  const hasOwnNumbers = isJsonType(mediaTypeOf(call.incoming.headers["content-type"]));
  const job = { text: payload.json ?? payload.text, pointer: name, hasOwnNumbers };
  return job.text.length <= AT_ONCE ? findScalar(job) : deps.findLarge(job, toJobOwner(call));
}

/** Texts up to this length, in UTF-16 units, stop the HTTP loop for some milliseconds at most. */
const AT_ONCE = 64 * 1024;

/**
 * Of the scheme that its signature was held against: no other header is signed. null: it has none; its
 * signature may have been taken away while the call came.
 */
function deliveryOfCall({ signature }: WebhookRow, { call }: Admission): string | null {
  if (signature === null) return null;
  const schemes = schemesOf(JSON.parse(signature) as SignatureMember);
  return deliveryOf(findScheme(schemes, call.incoming));
}

const RESERVED = [ASYNC, KEY, WAIT];

/**
 * Without the API key that its body may carry, which may be replaced before the call is sent again; then
 * as an earlier version has recorded it, or this one where the webhook had no key.
 */
function toFingerprints(admission: Admission): string[] {
  const { call, payload } = admission;
  const whole = toFingerprint(admission, call.bodyHash);
  if (payload === null || !payload.isStripped) return [whole];
  const left = createHash("sha256")
    .update(payload.json ?? "")
    .digest("hex");
  return [toFingerprint(admission, left), whole];
}

function toFingerprint({ call: { method, target } }: Admission, bodyHash: string | null): string {
  const query = withoutParameters(target.query, RESERVED);
  const parts = [method, target.path, query, bodyHash];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

const FAILED: readonly string[] = ENDINGS.filter((status) => status !== "ENDED_SUCCESS");

/** Whether a failure is to be tried again: what has been decided may not be in the tables yet. */
async function isOver(
  { executions, store }: CallDeps,
  { after_failure }: Idempotency,
  id: string,
): Promise<boolean> {
  if (after_failure === "same") return false;
  const isOver = await executions.whenKnown(id, (live) =>
    live === undefined ? null : live.decided !== null && FAILED.includes(live.decided.status),
  );
  if (isOver !== null) return isOver;
  const row = await findExecution(store, id);
  return row !== undefined && FAILED.includes(row.status);
}
