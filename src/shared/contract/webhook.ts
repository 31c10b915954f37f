import * as v from "valibot";
import type { Read } from "./read.ts";
import { ADDRESSES } from "./call-limits.ts";
import { describeGuarded } from "./guarded-members.ts";
import { DESCRIPTION, NAME } from "./name.ts";
import { FLAG, MAYBE_TEXT, MAYBE_TIME, TEXT, TIME } from "./scalar.ts";
import { SIGNATURE, SIGNATURE_INPUT } from "./signature.ts";
import { MEMBER_FIELDS, MEMBERS } from "./webhook-members.ts";

const LOCATION = v.picklist(["webhook", "flow"]);

const WEBHOOK_MEMBERS = {
  id: v.string(),
  name: v.string(),
  description: v.string(),
  flow: v.string(),
  role: MAYBE_TEXT,
  project_id: MAYBE_TEXT,
  bundle_id: MAYBE_TEXT,
  is_enabled: v.boolean(),
  is_productive: v.boolean(),
  require_login: v.boolean(),
  is_key_required: v.boolean(),
  key_used_at: v.pipe(MAYBE_TIME, v.description("When the key last admitted a call")),
  previous_key_until: v.pipe(MAYBE_TIME, v.description("Until when the replaced key is kept")),
  previous_key_used_at: v.pipe(MAYBE_TIME, v.description("When that one last admitted a call")),
  execution_location: LOCATION,
  call_mode: v.pipe(
    v.picklist(["async", "redirect", "hold"]),
    v.description(
      "What a call gets that does not say it itself, by this webhook and the configuration: the " +
        "execution's id, redirects that lead to the result, or the result of a held request",
    ),
  ),
  ...MEMBERS,
  signature: v.pipe(
    v.nullable(SIGNATURE),
    v.description("How its calls are signed; null: they need not be"),
  ),
  allowed_addresses: v.pipe(
    v.array(v.string()),
    v.description("Addresses and ranges that may call it; empty: any"),
  ),
  url: v.string(),
  created_by: v.string(),
  created_at: TIME,
  modified_by: v.string(),
  modified_at: TIME,
};

export const WEBHOOK = v.strictObject(WEBHOOK_MEMBERS);

export type Webhook = Read<typeof WEBHOOK>;

export const KEY = v.pipe(v.string(), v.description("The API key; shown this once"));

export const CREATED_WEBHOOK = v.strictObject({ ...WEBHOOK_MEMBERS, key: KEY });

/** With the key where it was set just now. */
export const AUTHENTICATED_WEBHOOK = v.strictObject({ ...WEBHOOK_MEMBERS, key: v.optional(KEY) });

export type AuthenticatedWebhook = Read<typeof AUTHENTICATED_WEBHOOK>;

/** The members of a webhook that anybody with webhook.write can set. */
const FIELDS = {
  description: v.optional(DESCRIPTION),
  role: v.optional(v.nullable(v.string())),
  project_id: v.optional(v.nullable(v.string())),
  bundle_id: v.optional(v.nullable(v.string())),
  is_productive: v.optional(FLAG),
  execution_location: v.optional(LOCATION),
  ...MEMBER_FIELDS,
};

export const NEW_WEBHOOK = v.strictObject(
  { ...FIELDS, name: NAME, flow: TEXT },
  ({ message, path }) => describeGuarded(String(path?.at(-1)?.key)) ?? message,
);

/** Loose, so that a guarded member is refused as one. */
export const WEBHOOK_CHANGE = v.looseObject({
  ...FIELDS,
  name: v.optional(NAME),
  flow: v.optional(TEXT),
});

export type WebhookChange = v.InferOutput<
  v.StrictObjectSchema<typeof WEBHOOK_CHANGE.entries, undefined>
>;

/** What asks for the own password again (section 4.8). */
export const WEBHOOK_AUTHENTICATION = v.strictObject({
  password: v.optional(v.string()),
  is_enabled: v.optional(FLAG),
  require_login: v.optional(FLAG),
  key: v.optional(
    v.union(
      [
        v.pipe(
          v.string(),
          v.minLength(16, "expected at least 16 characters"),
          v.regex(/^[\x21-\x7e]+$/, "expected visible ASCII characters, and no blanks"),
        ),
        v.null(),
        v.strictObject({ generate: v.literal(true) }),
      ],
      'expected at least 16 visible ASCII characters, null, or {"generate": true}',
    ),
  ),
  keep_previous_sec: v.optional(
    v.pipe(
      v.number("expected a number"),
      v.integer("expected a whole number"),
      v.minValue(0, "expected at least 0"),
      v.maxValue(86_400, "expected at most 86400"),
    ),
    0,
  ),
  signature: v.optional(v.nullable(SIGNATURE_INPUT)),
  allowed_addresses: v.optional(ADDRESSES),
});

export type WebhookAuthentication = v.InferOutput<typeof WEBHOOK_AUTHENTICATION>;
