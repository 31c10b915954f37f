import type { WebhookRow } from "../store/webhooks.ts";
import { requireResponseHeaders } from "./answer-members.ts";
import type { Api } from "./api.ts";
import { requireIdempotency } from "./idempotency-member.ts";
import { requireBodyLimit } from "./limit-members.ts";
import { requireLimits } from "./webhook-limits.ts";

type Checked = Parameters<typeof requireBodyLimit>[0] &
  Parameters<typeof requireIdempotency>[0] &
  Parameters<typeof requireLimits>[0] &
  Parameters<typeof requireResponseHeaders>[0];

/**
 * What the members of a webhook have to do with each other, and with the configuration.
 *
 * @param row as it is about to be written
 * @param path of the webhook in a document
 * @throws RequestError invalid naming the member
 */
export function requireMembers(
  { maxBodyBytes, isSandboxed }: Pick<Api, "maxBodyBytes" | "isSandboxed">,
  row: Pick<WebhookRow, keyof Checked>,
  path = "",
): void {
  requireIdempotency(row, `${path}idempotency`);
  requireLimits(row, `${path}limits`);
  requireBodyLimit(row, maxBodyBytes, `${path}max_body_bytes`);
  requireResponseHeaders(row, isSandboxed, `${path}response_headers`);
}
