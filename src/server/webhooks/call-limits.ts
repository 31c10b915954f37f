import { openAddressList, type AddressList } from "../access/address-list.ts";
import { RequestError } from "../../shared/errors.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { networkOf } from "../access/network.ts";
import type { WebhookLimits } from "../../shared/contract/webhook-limits.ts";
import type { Call, Caller, MatchedCall } from "./call.ts";
import type { RateLimits } from "./rate-limit.ts";

/** From where and how a webhook may be called, where it says so. */

/** Rows are kept until they change, and their lists with them. */
const lists = new WeakMap<WebhookRow, AddressList>();

/** @throws RequestError address_not_allowed */
export function requireAddress({ address }: Call, webhook: WebhookRow): void {
  const { allowed_addresses: allowed } = webhook;
  if (allowed === null) return;
  let isAllowed = lists.get(webhook);
  if (isAllowed === undefined) {
    isAllowed = openAddressList(JSON.parse(allowed) as string[]);
    lists.set(webhook, isAllowed);
  }
  if (isAllowed(address)) return;
  throw new RequestError("address_not_allowed", `The address ${address} may not call this webhook`);
}

/** HEAD as well is allowed only where it is listed. @throws RequestError method_not_allowed */
export function requireMethod({ call, webhook }: MatchedCall): void {
  if (webhook.methods === null) return;
  const methods = JSON.parse(webhook.methods) as string[];
  if (methods.includes(call.method)) return;
  const allow = methods.join(", ");
  throw new RequestError("method_not_allowed", `Found method "${call.method}", expected ${allow}`, {
    headers: { allow },
  });
}

/** Rows are kept until they change, and their limits with them. */
const limitsByRow = new WeakMap<object, WebhookLimits>();

function limitsOf(webhook: object, text: string): WebhookLimits {
  const found = limitsByRow.get(webhook);
  if (found !== undefined) return found;
  const limits = JSON.parse(text) as WebhookLimits;
  limitsByRow.set(webhook, limits);
  return limits;
}

/** Whether a newer call takes the place of those that wait: their callers are told its execution's id. */
export function isReplacing(webhook: Pick<WebhookRow, "limits">): boolean {
  return webhook.limits !== null && limitsOf(webhook, webhook.limits).when_busy === "replace";
}

/** Takes a token of the webhook's rate, where it has one. @throws RequestError rate_limited */
export async function takeToken(
  rates: RateLimits,
  { call, webhook, principal }: Caller,
  limits: string,
): Promise<void> {
  const { rate } = limitsOf(webhook, limits);
  if (rate === null) return;
  const partition = {
    webhook: null,
    address: networkOf(call.address),
    user: principal?.user_id ?? "",
  }[rate.by];
  call.bucket = await rates.take(webhook.id, partition, rate);
}

/** The most that is read of a body of the webhook. */
export function bodyLimitOf({ max_body_bytes }: WebhookRow, most: number): number {
  return max_body_bytes === null ? most : Math.min(max_body_bytes, most);
}
