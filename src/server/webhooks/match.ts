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
  const { allowed_addresses } = webhook;
  if (allowed_addresses !== null) requireAddress(call, webhook, allowed_addresses);
  return { call, webhook };
}

/**
 * Matches once more what has a body, which may have come slowly: what was taken from its webhook
 * meanwhile admits it no more, and the limits are those of now.
 *
 * @throws RequestError not_found, not_authenticated
 */
export async function matchAgain(store: Store, admission: Admission): Promise<Admission> {
  const { webhook } = admission;
  if (admission.payload === null) return admission;
  const again = await findWebhook(store, webhook.name);
  if (again === webhook) return admission;
  if (again?.id !== webhook.id || again.is_enabled !== 1) throw refuseName(webhook.name);
  if (again.key_hash !== webhook.key_hash && !isPrevious(again, webhook.key_hash))
    throw new RequestError("not_authenticated", "The API key was replaced while the call came");
  const { limits, modified_at } = again;
  if (modified_at === webhook.modified_at) return admission;
  return { ...admission, webhook: { ...webhook, limits, modified_at } };
}

/** Whether a key, or none, still admits where there is another one now, or none. */
function isPrevious({ key_hash, previous_key_hash }: WebhookRow, key: string | null): boolean {
  return key_hash === null || (key !== null && key === previous_key_hash);
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
