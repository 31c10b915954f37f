import * as v from "valibot";
import { deliveryOf, schemesOf, type SignatureMember } from "../access/signature-scheme.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { invalid } from "./named.ts";

/** The member `idempotency` of a webhook: by what its calls are told apart. */

const FROM = v.pipe(
  v.string("expected a string"),
  v.regex(
    /^(?:header:[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}|query:[\x21-\x7e]{1,128}|json:(?:\/[^\n]{0,128})+|scheme)$/,
    'expected "header:<name>", "query:<name>", "json:/<pointer>" or "scheme"',
  ),
  v.transform((from) => (from.startsWith("header:") ? from.toLowerCase() : from)),
);

const WINDOW = v.pipe(
  v.number("expected a number"),
  v.integer("expected a whole number"),
  v.minValue(60, "expected at least 60"),
  v.maxValue(2_592_000, "expected at most 2592000"),
);

const FLAG = v.boolean("expected true or false");

export const IDEMPOTENCY = v.pipe(
  v.strictObject({
    from: FROM,
    window_sec: v.optional(WINDOW, 86_400),
    required: v.optional(FLAG, false),
    compare: v.optional(FLAG),
    after_failure: v.optional(
      v.picklist(["run_again", "same"], 'expected "run_again" or "same"'),
      "run_again",
    ),
  }),
  // What a delivery's id is for may be sent again with another body.
  v.transform((given) => ({ ...given, compare: given.compare ?? given.from !== "scheme" })),
);

/** @throws RequestError invalid where it relies on a signature that is not there */
export function requireIdempotency(
  row: Pick<WebhookRow, "idempotency" | "signature">,
  path = "idempotency",
): void {
  if (row.idempotency === null) return;
  const { from } = JSON.parse(row.idempotency) as { from: string };
  if (from !== "scheme") return;
  const field = `${path}.from`;
  const signature = JSON.parse(row.signature ?? "null") as SignatureMember | null;
  if (signature === null) throw invalid(field, '"scheme" needs a signature');
  if (signature.mode !== "enforce")
    throw invalid(field, '"scheme" needs a signature that is enforced');
  if (deliveryOf(schemesOf(signature)[0]) === null)
    throw invalid(field, `calls of the scheme "${signature.scheme}" have no id`);
}
