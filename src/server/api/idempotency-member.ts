import type { Idempotency } from "../../shared/contract/idempotency.ts";
import { deliveryOf, schemesOf, type SignatureMember } from "../access/signature-scheme.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { invalid } from "./named.ts";

/** The member `idempotency` of a webhook beside its other members. */

/** @throws RequestError invalid where it relies on a signature that is not there */
export function requireIdempotency(
  row: Pick<WebhookRow, "idempotency" | "signature">,
  path = "idempotency",
): void {
  if (row.idempotency === null) return;
  const { from } = JSON.parse(row.idempotency) as Idempotency;
  if (from !== "scheme") return;
  const field = `${path}.from`;
  const signature = JSON.parse(row.signature ?? "null") as SignatureMember | null;
  if (signature === null) throw invalid(field, '"scheme" needs a signature');
  if (signature.mode !== "enforce")
    throw invalid(field, '"scheme" needs a signature that is enforced');
  if (deliveryOf(schemesOf(signature)[0]) === null)
    throw invalid(field, `calls of the scheme "${signature.scheme}" have no id`);
}
