import type { WebhookRow } from "../store/webhooks.ts";
import type { GivenMembers, Members } from "./webhook-members.ts";

/** The members of a webhook as its row has them. */
export function toMembers(row: WebhookRow): Members {
  const { sync_mode, default_mode, async_status, max_body_bytes, methods, idempotency, limits } =
    row;
  return {
    sync_mode,
    default_mode,
    async_status: async_status as Members["async_status"],
    methods: JSON.parse(methods ?? "null") as Members["methods"],
    max_body_bytes,
    idempotency: JSON.parse(idempotency ?? "null") as Members["idempotency"],
    limits: JSON.parse(limits ?? "null") as Members["limits"],
  };
}

/** The columns of those members that are given. */
export function toMemberColumns(given: GivenMembers): Partial<WebhookRow> {
  const { sync_mode, default_mode, async_status, max_body_bytes, methods, idempotency, limits } =
    given;
  const columns = {
    sync_mode,
    default_mode,
    async_status,
    max_body_bytes,
    methods: toText(methods),
    idempotency: toText(idempotency),
    limits: toText(limits),
  };
  const known = Object.entries(columns).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known);
}

function toText(value: object | null | undefined): string | null | undefined {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}
