import type { WebhookLimits } from "../../shared/contract/webhook-limits.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { invalid } from "./named.ts";

/** The member `limits` of a webhook, beside what its schema says. */

/** @throws RequestError invalid where it contradicts itself or the rest of the webhook */
export function requireLimits(
  { limits, require_login }: Pick<WebhookRow, "limits" | "require_login">,
  path = "limits",
): void {
  if (limits === null) return;
  const { rate, when_busy, max_concurrent } = JSON.parse(limits) as WebhookLimits;
  if (rate?.by === "user" && require_login !== 1)
    throw invalid(`${path}.rate.by`, '"user" needs require_login: without it nobody is known');
  if (when_busy === "refuse" && max_concurrent === null)
    throw invalid(`${path}.when_busy`, '"refuse" needs max_concurrent: without it none is busy');
}
