import { RequestError } from "../../shared/errors.ts";
import type { Store } from "../store/store.ts";
import { findWebhook, type WebhookRow } from "../store/webhooks.ts";
import type { Call, MatchedCall } from "./call.ts";
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

export function refuseName(name: string): RequestError {
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
