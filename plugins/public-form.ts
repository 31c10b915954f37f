import { defineFlow, v } from "flowhook";

/** Prices in cents, so that sums are exact. */
const PRICES: Readonly<Record<string, number>> = { lamp: 4900, chair: 12900, table: 34900 };

/** What anybody on the internet may ask for, and no more. */
const Order = v.strictObject({
  item: v.picklist(Object.keys(PRICES), "There are lamps, chairs and tables"),
  // A form sends digits as text, an application sends a number.
  quantity: v.pipe(
    v.union(
      [v.number(), v.pipe(v.string(), v.regex(/^\d{1,3}$/), v.transform(Number))],
      "Give a number",
    ),
    v.integer("Give a whole number"),
    v.minValue(1, "Order at least 1"),
    v.maxValue(100, "Order at most 100"),
  ),
  email: v.pipe(
    v.string("Give an e-mail address"),
    v.email("That is no e-mail address"),
    v.maxLength(254),
  ),
});

/**
 * A function for callers without an account: a webhook with neither login nor key is public, so
 * the flow trusts nothing. The schema is tried in `run` rather than declared as `input`, because
 * a wrong field is the caller's mistake (422, with each field) and no failure of the flow (500).
 *
 *   curl -L "$URL/public-form/call" \
 *     -H 'Content-Type: application/json' -d '{"item": "lamp", "quantity": 2, "email": "ada@example.com"}'
 */
export default defineFlow({
  description: "Calculates a quote for anybody, and tells what is wrong with an order",

  run(flow) {
    const order = v.safeParse(Order, flow.input_value.json);
    if (!order.success) {
      const errors = v.flatten<typeof Order>(order.issues).nested ?? {
        order: ["Give an order as JSON"],
      };
      flow.webhook_response({
        status: 422,
        headers: { "content-type": "application/json; charset=utf-8" },
        body: JSON.stringify({ errors }),
      });
      return { errors };
    }

    const { item, quantity } = order.output;
    const net_cents = (PRICES[item] ?? 0) * quantity;
    const vat_cents = Math.round(net_cents * 0.19);
    // The address was asked for to be written to; it does not belong in a log.
    flow.log.info("Quote", { item, quantity, net_cents });
    return { item, quantity, net_cents, vat_cents, total_cents: net_cents + vat_cents };
  },
});
