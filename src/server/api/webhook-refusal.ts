import { REFUSED_CALLS } from "../../shared/contract/refused-call.ts";
import * as v from "valibot";
import { toIso } from "../../shared/clock.ts";
import { wholeNumber } from "./parameters.ts";
import { defineRoute } from "./route.ts";
import { requireWebhook } from "./webhook-record.ts";

/** Why calls of a webhook were refused. */
export const getRefusals = defineRoute({
  method: "GET",
  path: "/webhook/:name/refusal",
  summary: "List the newest refused calls of a webhook, with the reason of each",
  needs: "webhook.read",
  query: v.strictObject({
    limit: v.optional(wholeNumber(1, 100, "The newest; all that are kept, without it")),
  }),
  answer: REFUSED_CALLS,
  async act(api, { principal, params, query }) {
    const row = await requireWebhook(api, principal, params["name"] ?? "");
    const refused = (await api.refusals.list(row.id)).slice(0, query.limit);
    return { status: 200, body: { items: refused.map((one) => ({ ...one, at: toIso(one.at) })) } };
  },
});
