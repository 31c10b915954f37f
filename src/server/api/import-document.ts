import { CORE_SCHEMA, load } from "js-yaml";
import * as v from "valibot";
import { RequestError } from "../../shared/errors.ts";
import { ADDRESSES } from "./limit-members.ts";
import { check } from "./field-errors.ts";
import { DESCRIPTION, NAME } from "./name.ts";
import { invalid } from "./named.ts";
import { SIGNATURE_INPUT } from "./signature-member.ts";
import { MEMBER_DEFAULTS, MEMBERS } from "./webhook-members.ts";

/** What every format carries of a webhook; never is_enabled, require_login or key. */
const CARRIED = {
  name: v.string("expected a string"),
  description: v.optional(v.string("expected a string"), ""),
  flow: v.string("expected a string"),
  role: v.optional(v.nullable(v.string("expected a string")), null),
  project: v.optional(v.nullable(v.string("expected a string")), null),
  execution_location: v.optional(v.picklist(["webhook", "flow"]), "webhook"),
  is_productive: v.optional(v.boolean("expected true or false"), true),
};

/** What is in no document of the first format, and in a later one unless it is the default. */
const CARRIED_LATER = {
  sync_mode: v.optional(MEMBERS.sync_mode, MEMBER_DEFAULTS.sync_mode),
  default_mode: v.optional(MEMBERS.default_mode, MEMBER_DEFAULTS.default_mode),
  async_status: v.optional(MEMBERS.async_status, MEMBER_DEFAULTS.async_status),
  methods: v.optional(MEMBERS.methods, MEMBER_DEFAULTS.methods),
  max_body_bytes: v.optional(MEMBERS.max_body_bytes, MEMBER_DEFAULTS.max_body_bytes),
  idempotency: v.optional(MEMBERS.idempotency, MEMBER_DEFAULTS.idempotency),
  limits: v.optional(MEMBERS.limits, MEMBER_DEFAULTS.limits),
  cors: v.optional(MEMBERS.cors, MEMBER_DEFAULTS.cors),
  response_headers: v.optional(MEMBERS.response_headers, MEMBER_DEFAULTS.response_headers),
  /** Set where the webhook is created, secrets by their names. */
  signature: v.optional(v.nullable(SIGNATURE_INPUT), null),
  allowed_addresses: v.optional(ADDRESSES, []),
};

type Carried = v.InferOutput<v.StrictObjectSchema<typeof CARRIED, undefined>>;
type CarriedLater = v.InferOutput<v.StrictObjectSchema<typeof CARRIED_LATER, undefined>>;

/** A document of the first format says nothing of the later members: they stay as they are. */
export type CarriedWebhook = Carried & Partial<CarriedLater>;

/** Names the format, so that a later one can be told apart. */
export const FORMAT = "flowhook/export/v2";
const FIRST_FORMAT = "flowhook/export/v1";

const CHECKED = { ...CARRIED, name: NAME, description: v.optional(DESCRIPTION, "") };

const DOCUMENT = v.variant(
  "format",
  [
    v.strictObject({
      format: v.literal(FORMAT),
      webhooks: v.array(v.strictObject({ ...CHECKED, ...CARRIED_LATER })),
    }),
    v.strictObject({
      format: v.literal(FIRST_FORMAT),
      webhooks: v.array(v.strictObject(CHECKED)),
    }),
  ],
  `expected "${FORMAT}" or "${FIRST_FORMAT}"`,
);

/**
 * The webhooks of an exported document.
 *
 * @throws RequestError bad_body, invalid
 */
export function readDocument(bytes: Uint8Array): CarriedWebhook[] {
  const document = parse(new TextDecoder().decode(bytes));
  refuseMany(document);
  return check(DOCUMENT, document).webhooks;
}

/** Webhooks in one import. */
const MOST_WEBHOOKS = 10_000;

function refuseMany(document: unknown): void {
  const { webhooks } = (document ?? {}) as { readonly webhooks?: unknown };
  if (Array.isArray(webhooks) && webhooks.length > MOST_WEBHOOKS)
    throw invalid("webhooks", `expected at most ${MOST_WEBHOOKS}, found ${webhooks.length}`);
}

function parse(text: string): unknown {
  try {
    return load(text, { schema: CORE_SCHEMA, maxDepth: 10, maxAliases: 0 });
  } catch (error) {
    throw new RequestError("bad_body", `The document is not YAML: ${(error as Error).message}`);
  }
}
