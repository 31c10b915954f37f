import type { Cors } from "../../shared/contract/answer-headers.ts";
import { discardBody } from "../request/body.ts";
import { RequestError } from "../../shared/errors.ts";
import type { Store } from "../store/store.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import type { Call } from "./call.ts";
import { match, METHODS, refuseMethod } from "./match.ts";
import { respondPreflight, type Reply } from "./respond.ts";
import { WAIT } from "./target.ts";

/**
 * Which pages of other origins may read the answers of a webhook (Fetch standard, section 3.2).
 * Browsers ask for it; other clients never do, so that it keeps nobody out.
 */

/** Rows are kept until they change, and what was read of them too. */
const members = new WeakMap<WebhookRow, Cors>();

function corsOf(webhook: WebhookRow): Cors | null {
  if (webhook.cors === null) return null;
  const known = members.get(webhook);
  if (known !== undefined) return known;
  const cors = JSON.parse(webhook.cors) as Cors;
  members.set(webhook, cors);
  return cors;
}

const ANY = "*";

/** The origin of frames that are kept apart, and of pages from flows: anybody can have it. */
const OPAQUE = "null";

/** What an answer says of its origin; null: nothing, the origin is not listed. */
function findOrigin({ incoming }: Call, cors: Cors): string | null {
  const { origin } = incoming.headers;
  if (origin === undefined) return null;
  if (cors.origins.includes(ANY)) return ANY;
  return cors.origins.includes(origin) ? origin : null;
}

/** Whether a page of this very origin may use its reader's login (contract, section 4, number 14). */
export function admitsLogin(call: Call, webhook: WebhookRow): boolean {
  const cors = corsOf(webhook);
  if (cors === null || !cors.credentials) return false;
  const origin = findOrigin(call, cors);
  return origin !== null && origin !== ANY && origin !== OPAQUE;
}

/** Headers of answers that a page may read beside those that any may (Fetch standard, 3.2.5). */
const EXPOSED =
  "flowhook-execution-id, idempotent-replayed, location, retry-after, ratelimit, ratelimit-policy";

/** Every answer of a webhook to an origin that is listed says so, refusals and redirects too. */
export function addCors({ headers }: Reply, call: Call, webhook: WebhookRow): void {
  const cors = webhook.is_enabled === 1 ? corsOf(webhook) : null;
  const origin = cors === null ? null : findOrigin(call, cors);
  if (cors === null || origin === null) return;
  Object.assign(headers, toOriginHeaders(origin, cors), { [EXPOSE]: EXPOSED });
  const vary = Object.keys(headers).find((name) => name.toLowerCase() === "vary") ?? "vary";
  const own = headers[vary];
  headers[vary] = own === undefined ? "Origin" : [...[own].flat(), "Origin"];
}

const EXPOSE = "access-control-expose-headers";

function toOriginHeaders(origin: string, { credentials }: Cors): Record<string, string> {
  const headers = { "access-control-allow-origin": origin };
  if (!credentials || origin === OPAQUE) return headers;
  return { ...headers, "access-control-allow-credentials": "true" };
}

/**
 * A browser asks whether a page may send a call. Nothing is recorded, and no credentials are
 * asked for: browsers send none.
 *
 * @param counted is told the name of the webhook, where the answer is about one
 * @throws RequestError method_not_allowed, the same for whatever is not allowed or not there
 */
export async function answerPreflight(
  store: Store,
  call: Call,
  counted: { name: string },
): Promise<Reply> {
  const webhook = await findAsked(store, call);
  const cors = webhook === null ? null : corsOf(webhook);
  const origin = cors === null ? null : findOrigin(call, cors);
  if (webhook === null || cors === null || origin === null) throw refuseMethod(call.method);
  discardBody(call.incoming);
  counted.name = webhook.name;
  return respondPreflight({
    ...toOriginHeaders(origin, cors),
    "access-control-allow-methods": methodsOf(call, webhook).join(", "),
    ...(cors.headers.length === 0
      ? {}
      : { "access-control-allow-headers": cors.headers.join(", ") }),
    "access-control-max-age": String(cors.max_age_sec),
    vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
  });
}

/** The webhook that a call with the asked method would reach; null: none. */
async function findAsked(store: Store, call: Call): Promise<WebhookRow | null> {
  const method = call.incoming.headers["access-control-request-method"];
  if (method === undefined || call.incoming.headers.origin === undefined) return null;
  try {
    const { webhook } = await match(store, { ...call, method }, { webhook: null });
    return methodsOf(call, webhook).includes(method) ? webhook : null;
  } catch (error) {
    if (error instanceof RequestError) return null;
    throw error;
  }
}

/** Redirects lead to a leg, mostly with GET. */
function methodsOf({ query }: Call, { methods }: WebhookRow): readonly string[] {
  const own = methods === null ? METHODS : (JSON.parse(methods) as string[]);
  return query.has(WAIT) && !own.includes("GET") ? [...own, "GET"] : own;
}
