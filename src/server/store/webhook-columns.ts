import { isDeepStrictEqual } from "node:util";
import type { Selectable } from "kysely";
import {
  MEMBER_DEFAULTS,
  MEMBER_NAMES,
  type GivenMembers,
  type Members,
} from "../../shared/contract/webhook-members.ts";
import type { WebhookTable } from "./schema.ts";

type WebhookRow = Selectable<WebhookTable>;

type WideName = {
  [Name in keyof Members]: [Members[Name]] extends [WebhookRow[Name]] ? never : Name;
}[keyof Members];

/** Members whose column holds their JSON text, or null for what they are by default. */
const WIDE: Readonly<Record<WideName, true>> = {
  methods: true,
  idempotency: true,
  limits: true,
  cors: true,
  response_headers: true,
};

/** Columns that a webhook has unless it says otherwise. */
export const WEBHOOK_DEFAULTS = {
  ...(toMemberColumns(MEMBER_DEFAULTS) as Pick<WebhookRow, keyof Members>),
  allowed_addresses: null,
  signature: null,
  signature_revision: 0,
} satisfies Partial<WebhookRow>;

/** The members of a webhook as its row has them. */
export function toMembers(row: WebhookRow): Members {
  const members = MEMBER_NAMES.map((name) => [name, isWide(name) ? toWide(row, name) : row[name]]);
  return Object.fromEntries(members) as Members;
}

/** The columns of those members that are given. */
export function toMemberColumns(given: GivenMembers): Partial<WebhookRow> {
  const columns = MEMBER_NAMES.filter((name) => given[name] !== undefined).map((name) => {
    const value = given[name];
    if (!isWide(name)) return [name, value];
    return [name, isDeepStrictEqual(value, MEMBER_DEFAULTS[name]) ? null : JSON.stringify(value)];
  });
  return Object.fromEntries(columns) as Partial<WebhookRow>;
}

function isWide(name: keyof Members): name is WideName {
  return Object.hasOwn(WIDE, name);
}

function toWide(row: WebhookRow, name: WideName): unknown {
  const text = row[name];
  return text === null ? MEMBER_DEFAULTS[name] : (JSON.parse(text) as unknown);
}
