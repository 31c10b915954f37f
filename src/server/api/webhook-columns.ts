import type { WebhookRow } from "../store/webhooks.ts";
import type { GivenMembers, Members } from "./webhook-members.ts";

/** The members of a webhook as its row has them. */
export function toMembers(row: WebhookRow): Members {
  const { sync_mode, default_mode, async_status, max_body_bytes } = row;
  return {
    sync_mode,
    default_mode,
    async_status: async_status as Members["async_status"],
    methods: JSON.parse(row.methods ?? "null") as Members["methods"],
    max_body_bytes,
    idempotency: JSON.parse(row.idempotency ?? "null") as Members["idempotency"],
    limits: JSON.parse(row.limits ?? "null") as Members["limits"],
    cors: JSON.parse(row.cors ?? "null") as Members["cors"],
    response_headers: JSON.parse(row.response_headers ?? "{}") as Members["response_headers"],
  };
}

/** The columns of those members that are given. */
export function toMemberColumns(given: GivenMembers): Partial<WebhookRow> {
  const { sync_mode, default_mode, async_status, max_body_bytes } = given;
  const { methods, idempotency, limits, cors, response_headers } = given;
  const columns = {
    sync_mode,
    default_mode,
    async_status,
    max_body_bytes,
    methods: toText(methods),
    idempotency: toText(idempotency),
    limits: toText(limits),
    cors: toText(cors),
    response_headers: isEmpty(response_headers) ? null : toText(response_headers),
  };
  const known = Object.entries(columns).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known);
}

function isEmpty(value: object | undefined): boolean {
  return value !== undefined && Object.keys(value).length === 0;
}

function toText(value: object | null | undefined): string | null | undefined {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}
