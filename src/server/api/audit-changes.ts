import { isDeepStrictEqual } from "node:util";
import type { AuditChange } from "../../shared/contract/audit-entry.ts";
import type { Project } from "../../shared/contract/project.ts";
import type { Role } from "../../shared/contract/role.ts";
import type { Secret } from "../../shared/contract/secret.ts";
import type { Setting } from "../../shared/contract/setting.ts";
import type { User, UserChange } from "../../shared/contract/user.ts";
import type { CarriedWebhook, ImportedWebhook } from "../../shared/contract/webhook-document.ts";
import type { Members } from "../../shared/contract/webhook-members.ts";
import type { Webhook, WebhookAuthentication } from "../../shared/contract/webhook.ts";

/** For each member that is answered or given: whether the audit keeps its values. */
type Shown<Member extends PropertyKey> = Readonly<Record<Member, boolean>>;

/** The entry itself says who and when. */
const STAMPS = { id: false, created_at: false, modified_at: false };

/** Headers of answers are left out: their values may be credentials. */
const WEBHOOK_MEMBERS: Shown<keyof Members> = {
  sync_mode: true,
  default_mode: true,
  async_status: true,
  methods: true,
  max_body_bytes: true,
  idempotency: true,
  limits: true,
  cors: true,
  response_headers: false,
  input_check: true,
};

/** Signatures name their secrets, and have no values of them. */
const WEBHOOK: Shown<keyof Webhook | keyof WebhookAuthentication> = {
  ...STAMPS,
  ...WEBHOOK_MEMBERS,
  name: true,
  description: true,
  flow: true,
  role: true,
  project_id: true,
  bundle_id: true,
  is_enabled: true,
  is_productive: true,
  require_login: true,
  is_key_required: true,
  key: false,
  key_used_at: false,
  keep_previous_sec: false,
  previous_key_until: true,
  previous_key_used_at: false,
  execution_location: true,
  signature: true,
  allowed_addresses: true,
  call_mode: false,
  url: false,
  created_by: false,
  modified_by: false,
  password: false,
};

const CARRIED: Shown<keyof CarriedWebhook> = {
  ...WEBHOOK_MEMBERS,
  name: true,
  description: true,
  flow: true,
  role: true,
  project: true,
  execution_location: true,
  is_productive: true,
  signature: true,
  allowed_addresses: true,
};

const PROJECT: Shown<keyof Project> = { ...STAMPS, name: true, description: true };

const ROLE: Shown<keyof Role | "password"> = {
  ...STAMPS,
  name: true,
  permissions: true,
  propagate: true,
  password: false,
};

/** Addresses of people are left out: the audit outlives them. */
const USER: Shown<keyof User | keyof UserChange> = {
  ...STAMPS,
  name: true,
  email: false,
  roles: true,
  is_enabled: true,
  active_at: false,
  password: false,
  own_password: false,
};

/** Anything may be in a setting, also what should be a secret. */
const SETTING: Shown<keyof Setting> = { ...STAMPS, name: true, value: false };

const SECRET: Shown<keyof Secret | "value"> = { ...STAMPS, name: true, value: false };

/** By the resource of an action: `webhook` of `webhook.create`; `carried` is that of an import. */
export const AUDITED = {
  webhook: WEBHOOK,
  project: PROJECT,
  role: ROLE,
  user: USER,
  setting: SETTING,
  secret: SECRET,
  carried: CARRIED,
} as const satisfies Record<string, Shown<string>>;

type Audited = keyof typeof AUDITED;

/** Members whose values are kept, and are not the same. */
export function changesOf(resource: Audited, from: object, to: object): AuditChange[] {
  return compare(AUDITED[resource], from, to);
}

/** What it was created with, as far as it was given. */
export function creationOf(resource: Audited, given: object, created: object): AuditChange[] {
  const names = Object.keys(given);
  const entries = Object.entries(created).filter(([name]) => names.includes(name));
  return compare(AUDITED[resource], {}, Object.fromEntries(entries));
}

/** What is lost with it. */
export function deletionOf(resource: Audited, deleted: object): AuditChange[] {
  return compare(AUDITED[resource], deleted, {});
}

/** Changes of one entry. */
const MOST_CHANGES = 100;

/** Of all webhooks of an import, each member after the name of its webhook. */
export function importedOf(items: readonly ImportedWebhook[]): AuditChange[] {
  const shown = Object.entries(CARRIED).filter(([, isShown]) => isShown);
  const all = items.flatMap(({ name, changes }) =>
    shown.flatMap(([member]) => {
      const change = changes[member];
      return change === undefined ? [] : [toChange(`${name}.${member}`, change)];
    }),
  );
  const more = all.length - MOST_CHANGES;
  if (more <= 0) return all;
  return [...all.slice(0, MOST_CHANGES), { member: `… and ${more} more`, from: null, to: null }];
}

function compare(shown: Shown<string>, from: object, to: object): AuditChange[] {
  const before = new Map(Object.entries(from));
  const after = new Map(Object.entries(to));
  return Object.keys(shown)
    .filter((member) => shown[member] === true)
    .map((member) => ({ member, from: before.get(member), to: after.get(member) }))
    .filter((change) => !isDeepStrictEqual(orNothing(change.from), orNothing(change.to)))
    .map(({ member, ...change }) => toChange(member, change));
}

/** What is empty is as if it were not there. */
function orNothing(value: unknown): unknown {
  const isEmpty = value === undefined || value === "" || value === false;
  return isEmpty || (Array.isArray(value) && value.length === 0) ? null : value;
}

function toChange(member: string, { from, to }: Omit<AuditChange, "member">): AuditChange {
  return { member, from: cut(from ?? null), to: cut(to ?? null) };
}

/** Characters of a value as JSON. */
const LONGEST = 2000;

/** The first half of a character that was cut in two. */
const HALF = /[\uD800-\uDBFF]$/;

/** What is longer is a text of its beginning. */
function cut(value: unknown): unknown {
  const json = JSON.stringify(value);
  if (json.length <= LONGEST) return value;
  const text = typeof value === "string" ? value : json;
  return `${text.slice(0, LONGEST).replace(HALF, "")}…`;
}
