import { isKey } from "../access/api-key.ts";
import type { Logins } from "../access/login.ts";
import type { SignatureMember } from "../access/signature-scheme.ts";
import { hasBody } from "../request/body.ts";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import type { Store } from "../store/store.ts";
import { findWebhook, type WebhookRow } from "../store/webhooks.ts";
import type { Admission, Call, MatchedCall } from "./call.ts";
import { requireAddress } from "./call-limits.ts";
import { decodeName } from "./target.ts";

/** The methods of a call (section 4.1). */
export const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** The methods with a body (contract, section 4, number 2). */
const WITH_BODY: readonly string[] = ["POST", "PUT", "PATCH", "DELETE"];

export function takesBody(method: string): boolean {
  return WITH_BODY.includes(method);
}

/** Whose call it is, for whoever has to say why it was refused. */
export interface Passage {
  webhook: WebhookRow | null;
}

/**
 * The enabled webhook of a call. A disabled one answers like one that does not exist.
 *
 * @throws RequestError method_not_allowed, bad_target, not_found, address_not_allowed
 */
export async function match(store: Store, call: Call, passage: Passage): Promise<MatchedCall> {
  if (!METHODS.includes(call.method)) throw refuseMethod(call.method);
  const name = decodeName(call.target.name);
  const webhook = await findWebhook(store, name);
  passage.webhook = webhook ?? null;
  if (webhook === undefined || webhook.is_enabled !== 1) throw refuseName(name);
  requireAddress(call, webhook);
  return { call, webhook };
}

/**
 * Matches once more what has a body, which may have come slowly: what was taken from its webhook or
 * its login meanwhile admits it no more, and whose permissions it has, and its limits, are of now.
 *
 * @throws RequestError not_found, address_not_allowed, not_authenticated
 */
export async function matchAgain(
  { store, logins }: { readonly store: Store; readonly logins: Pick<Logins, "renew"> },
  admission: Admission,
): Promise<Admission> {
  const { call, webhook, principal } = admission;
  if (!hasBody(call.incoming)) return admission;
  if (principal !== null && (await logins.renew(principal)) === null)
    throw refuseChanged("The login has ended");
  const again = await findWebhook(store, webhook.name);
  if (again === webhook) return admission;
  if (again?.id !== webhook.id || again.is_enabled !== 1) throw refuseName(webhook.name);
  requireAddress(call, again);
  requireStill(admission, again);
  return { ...admission, webhook: { ...webhook, ...doorsOf(again) } };
}

/** @throws RequestError not_authenticated where what the call has shown is not enough by now */
function requireStill({ principal, keys, signed }: Admission, again: WebhookRow): void {
  if (again.require_login === 1 && principal === null) throw refuseChanged("A login was required");
  const at = now();
  if (again.key_hash !== null && !keys.some((key) => isKey(key, again, at)))
    throw refuseChanged("The API key was replaced");
  if (signed?.revision !== again.signature_revision && isSignatureEnforced(again))
    throw refuseChanged("How it has to be signed was changed");
}

function isSignatureEnforced({ signature }: WebhookRow): boolean {
  return signature !== null && (JSON.parse(signature) as SignatureMember).mode === "enforce";
}

/** What admits to a webhook, and with whose permissions: the rest is as the call has been read by. */
function doorsOf(webhook: WebhookRow): Partial<WebhookRow> {
  const { require_login, allowed_addresses, limits, role_id, created_by } = webhook;
  const { key_hash, previous_key_hash, previous_key_until } = webhook;
  const { signature, signature_revision, modified_at } = webhook;
  const shown = { key_hash, previous_key_hash, previous_key_until, signature, signature_revision };
  return { require_login, allowed_addresses, limits, modified_at, role_id, created_by, ...shown };
}

function refuseChanged(what: string): RequestError {
  return new RequestError("not_authenticated", `${what} while the call came`);
}

function refuseName(name: string): RequestError {
  return new RequestError("not_found", `There is no enabled webhook "${name}"`);
}

export function refuseMethod(method: string): RequestError {
  const allow = METHODS.join(", ");
  return new RequestError(
    "method_not_allowed",
    `Found method "${method}", expected one of ${allow}`,
    { headers: { allow } },
  );
}
