import type { Catalog } from "../flows/catalog.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { invalid } from "./named.ts";

/** The member `input_check` of a webhook: whether the server checks the input before the record. */

type Checked = Pick<WebhookRow, "flow" | "input_check">;

/**
 * @param before null where it is new; what was set before stays, whatever became of the flow
 * @throws RequestError invalid where the flow has no schema to check with
 */
export function requireInputCheck(
  catalog: Pick<Catalog, "find">,
  webhook: Checked,
  before: Checked | null,
  path = "input_check",
): void {
  if (webhook.input_check !== "refuse") return;
  if (before?.input_check === "refuse" && before.flow === webhook.flow) return;
  const schema = catalog.find(webhook.flow)?.manifest?.schemas?.input ?? null;
  if (schema !== null && schema.json !== null) return;
  const why = schema === null ? "has none" : `has none: ${schema.reason}`;
  throw invalid(
    path,
    `"refuse" needs a JSON Schema of the flow's input, and "${webhook.flow}" ${why}`,
  );
}
