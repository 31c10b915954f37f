import {
  MOST_WEBHOOKS,
  WEBHOOK_DOCUMENT,
  type CarriedWebhook,
} from "../../shared/contract/webhook-document.ts";
import { CORE_SCHEMA, load } from "js-yaml";
import { RequestError } from "../../shared/errors.ts";
import { check } from "./field-errors.ts";
import { toText } from "./json-body.ts";
import { invalid } from "./named.ts";

/**
 * The webhooks of an exported document.
 *
 * @throws RequestError bad_body, invalid
 */
export function readDocument(bytes: Uint8Array): CarriedWebhook[] {
  const document = parse(toText(bytes));
  refuseMany(document);
  return check(WEBHOOK_DOCUMENT, document).webhooks;
}

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
