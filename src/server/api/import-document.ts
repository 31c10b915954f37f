import { CORE_SCHEMA, load } from "js-yaml";
import * as v from "valibot";
import { RequestError } from "../../shared/errors.ts";
import { check } from "./field-errors.ts";
import { DESCRIPTION, NAME } from "./name.ts";
import { invalid } from "./named.ts";

/** What is carried of a webhook (contract, section 3); never is_enabled, require_login or key. */
export const CARRIED = v.strictObject({
  name: v.string("expected a string"),
  description: v.optional(v.string("expected a string"), ""),
  flow: v.string("expected a string"),
  role: v.optional(v.nullable(v.string("expected a string")), null),
  project: v.optional(v.nullable(v.string("expected a string")), null),
  execution_location: v.optional(v.picklist(["webhook", "flow"]), "webhook"),
  is_productive: v.optional(v.boolean("expected true or false"), true),
});

export type CarriedWebhook = v.InferOutput<typeof CARRIED>;

/** Names the format, so that a later one can be told apart. */
export const FORMAT = "flowhook/export/v1";

const DOCUMENT = v.strictObject({
  format: v.literal(FORMAT, `expected "${FORMAT}"`),
  webhooks: v.array(
    v.strictObject({ ...CARRIED.entries, name: NAME, description: v.optional(DESCRIPTION, "") }),
  ),
});

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
