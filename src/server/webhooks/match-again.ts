import { isKey } from "../access/api-key.ts";
import type { SignatureMember } from "../access/signature-scheme.ts";
import { hasBody } from "../request/body.ts";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { findWebhook, type WebhookRow } from "../store/webhooks.ts";
import { readInput, type AdmissionRules } from "./admit.ts";
import { requireKey, type AuthenticationDeps } from "./authenticate.ts";
import type { Admission } from "./call.ts";
import { requireAddress } from "./call-limits.ts";
import { refuseName } from "./match.ts";

type Deps = AuthenticationDeps & AdmissionRules;

/**
 * Matches once more what has a body, which may have come slowly.
 *
 * @throws RequestError not_found, address_not_allowed, not_authenticated, overloaded
 */
export async function matchAgain(deps: Deps, admission: Admission): Promise<Admission> {
  return hasBody(admission.call.incoming) ? matchNow(deps, admission) : admission;
}

/**
 * Matches once more: what was taken from its webhook or its login meanwhile admits it no more, and
 * whose permissions it has, and its limits, are of now.
 *
 * @throws RequestError not_found, address_not_allowed, not_authenticated, overloaded
 */
export async function matchNow(deps: Deps, admission: Admission): Promise<Admission> {
  const { principal } = admission;
  if (principal !== null && (await deps.logins.renew(principal)) === null)
    throw refuseChanged("The login has ended");
  return matchWebhook(deps, admission);
}

/**
 * Its webhook alone, which is one look at a row in memory; a login is some statements.
 *
 * @throws RequestError not_found, address_not_allowed, not_authenticated, overloaded
 */
export async function matchWebhook(deps: Deps, admission: Admission): Promise<Admission> {
  const { store } = deps;
  const { call, webhook } = admission;
  const again = await findWebhook(store, webhook.name);
  if (again === webhook) return admission;
  if (again?.id !== webhook.id || again.is_enabled !== 1) throw refuseName(webhook.name);
  requireAddress(call, again);
  requireStill(admission, again);
  const still = { ...admission, webhook: { ...webhook, ...doorsOf(again) } };
  return webhook.key_hash === null && again.key_hash !== null ? showKey(deps, still) : still;
}

/** It had not to show a key: what it has shown is looked at now, and taken out of what the flow gets. */
async function showKey(deps: Deps, admission: Admission): Promise<Admission> {
  const text = admission.payload?.text ?? null;
  const body = text === null ? null : { bytes: Buffer.from(text), text, parsed: null, error: null };
  return readInput(deps, await requireKey(deps, { ...admission, body }));
}

/** @throws RequestError not_authenticated where what the call has shown is not enough by now */
function requireStill({ webhook, principal, keys, signed }: Admission, again: WebhookRow): void {
  if (again.require_login === 1 && principal === null) throw refuseChanged("A login was required");
  const isKeyed = webhook.key_hash !== null && again.key_hash !== null;
  const at = now();
  if (isKeyed && !keys.some((key) => isKey(key, again, at)))
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
