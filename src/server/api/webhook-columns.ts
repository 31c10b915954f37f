import type { WebhookRow } from "../store/webhooks.ts";
import type { GivenMembers, Members } from "./webhook-members.ts";

/** The members of a webhook as its row has them. */
export function toMembers(row: WebhookRow): Members {
  const { sync_mode, default_mode, async_status } = row;
  return { sync_mode, default_mode, async_status: async_status as Members["async_status"] };
}

/** The columns of those members that are given. */
export function toMemberColumns(given: GivenMembers): Partial<WebhookRow> {
  const { sync_mode, default_mode, async_status } = given;
  const known = Object.entries({ sync_mode, default_mode, async_status });
  return Object.fromEntries(known.filter(([, value]) => value !== undefined));
}
