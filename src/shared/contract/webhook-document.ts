import * as v from "valibot";
import type { Read } from "./read.ts";
import { ADDRESSES } from "./call-limits.ts";
import { DESCRIPTION, NAME } from "./name.ts";
import { FLAG, TEXT } from "./scalar.ts";
import { SIGNATURE_INPUT } from "./signature.ts";
import { KEY } from "./webhook.ts";
import { MEMBER_DEFAULTS, MEMBERS_OR_DEFAULTS } from "./webhook-members.ts";

/** Webhooks on their way from one workspace to another. */

/** What every format carries of a webhook; never is_enabled, require_login or key. */
const CARRIED = {
  name: NAME,
  description: v.optional(DESCRIPTION, ""),
  flow: TEXT,
  role: v.optional(v.nullable(TEXT), null),
  project: v.optional(v.nullable(TEXT), null),
  execution_location: v.optional(v.picklist(["webhook", "flow"]), "webhook"),
  is_productive: v.optional(FLAG, true),
};

/** What is in no document of the first format, and in a later one unless it is the default. */
const CARRIED_LATER = {
  ...MEMBERS_OR_DEFAULTS,
  /** Set where the webhook is created, secrets by their names. */
  signature: v.optional(v.nullable(SIGNATURE_INPUT), null),
  allowed_addresses: v.optional(ADDRESSES, []),
};

/** What a document need not say. */
export const USUAL = { ...MEMBER_DEFAULTS, signature: null, allowed_addresses: [] };

type Carried = v.InferOutput<v.StrictObjectSchema<typeof CARRIED, undefined>>;
type CarriedLater = v.InferOutput<v.StrictObjectSchema<typeof CARRIED_LATER, undefined>>;

/** A document of the first format says nothing of the later members: they stay as they are. */
export type CarriedWebhook = Carried & Partial<CarriedLater>;

/** Names the format, so that a later one can be told apart. */
export const FORMAT = "flowhook/export/v2";
const FIRST_FORMAT = "flowhook/export/v1";

export const WEBHOOK_DOCUMENT = v.variant(
  "format",
  [
    v.strictObject({
      format: v.literal(FORMAT),
      webhooks: v.array(v.strictObject({ ...CARRIED, ...CARRIED_LATER })),
    }),
    v.strictObject({
      format: v.literal(FIRST_FORMAT),
      webhooks: v.array(v.strictObject(CARRIED)),
    }),
  ],
  `expected "${FORMAT}" or "${FIRST_FORMAT}"`,
);

/** What an import takes at most. */
export const MOST_WEBHOOKS = 10_000;
export const MOST_DOCUMENT_BYTES = 16 * 1024 * 1024;

/** What is done about a webhook whose name is taken. */
export const CONFLICTS = ["skip", "replace", "rename"] as const;

export type Conflict = (typeof CONFLICTS)[number];

const DIFFERENCE = v.strictObject({ from: v.unknown(), to: v.unknown() });

const IMPORTED_WEBHOOK = v.strictObject({
  name: v.string(),
  action: v.picklist(["create", ...CONFLICTS]),
  changes: v.pipe(
    v.record(v.string(), DIFFERENCE),
    v.description("Members that differ, for `replace`"),
  ),
  key: v.optional(KEY),
});

/** What an import did, or would do, with one webhook. */
export type ImportedWebhook = Read<typeof IMPORTED_WEBHOOK>;

export const IMPORTED = v.strictObject({ dry_run: v.boolean(), items: v.array(IMPORTED_WEBHOOK) });

export type Imported = Read<typeof IMPORTED>;
