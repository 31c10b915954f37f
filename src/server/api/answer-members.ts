import * as v from "valibot";
import { isOfCors } from "../executions/cross-origin.ts";
import { checkHeaders } from "../executions/custom-response.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { invalid } from "./named.ts";

/** Which pages may read the answers of a webhook, and which headers these have. */

const MOST_ORIGINS = 50;
const MOST_NAMES = 50;
const MOST_AGE_SEC = 86_400;

/** Schemes of apps and extensions too, of which URL knows no origin. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*\\]+$/;

function isOrigin(text: string): boolean {
  if (text === "*" || text === "null") return true;
  if (!ORIGIN.test(text) || !URL.canParse(text)) return false;
  const { origin, protocol } = new URL(text);
  return /^https?:$/.test(protocol) ? origin === text : protocol !== "file:";
}

const ORIGINS = v.pipe(
  v.array(
    v.pipe(
      v.string("expected a string"),
      v.check(
        isOrigin,
        'expected an origin as a browser sends it, as "https://app.example.com", or "*" or "null"',
      ),
    ),
    "expected a list of origins",
  ),
  v.minLength(1, "expected at least 1 origin"),
  v.maxLength(MOST_ORIGINS, `expected at most ${MOST_ORIGINS} origins`),
  v.check((origins) => new Set(origins).size === origins.length, "has an origin twice"),
  v.check((origins) => origins.length === 1 || !origins.includes("*"), '"*" stands alone'),
);

/** Not the wildcard, which leaves Authorization out, and means nothing beside credentials. */
const HEADER_NAME = v.pipe(
  v.string("expected a string"),
  v.regex(/^(?!\*$)[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/, "expected the name of a header"),
);

const USUAL_HEADERS = [
  "authorization",
  "content-type",
  "idempotency-key",
  "prefer",
  "x-service-token",
];

export const CORS = v.pipe(
  v.strictObject({
    origins: ORIGINS,
    credentials: v.optional(v.boolean("expected true or false"), false),
    headers: v.optional(
      v.pipe(
        v.array(HEADER_NAME, "expected a list of names"),
        v.maxLength(MOST_NAMES, `expected at most ${MOST_NAMES} names`),
      ),
      USUAL_HEADERS,
    ),
    max_age_sec: v.optional(
      v.pipe(
        v.number("expected a number"),
        v.integer("expected a whole number"),
        v.minValue(0, "expected at least 0"),
        v.maxValue(MOST_AGE_SEC, `expected at most ${MOST_AGE_SEC}`),
      ),
      600,
    ),
  }),
  v.forward(
    v.check(
      ({ origins, credentials }) => !credentials || !origins.includes("*"),
      'expected false beside the origin "*": list the origins that may use a login',
    ),
    ["credentials"],
  ),
);

const MOST_HEADERS = 20;

export const RESPONSE_HEADERS = v.pipe(
  v.record(v.string(), v.string("expected a string"), "expected an object of headers"),
  v.check(
    (headers) => Object.keys(headers).length <= MOST_HEADERS,
    `expected at most ${MOST_HEADERS} headers`,
  ),
);

/** What every answer has from the service. */
const OF_SERVICE = ["flowhook-execution-id", "x-request-id"];

/** @throws RequestError invalid naming the header that a webhook cannot add */
export function requireResponseHeaders(
  { cors, response_headers }: Pick<WebhookRow, "cors" | "response_headers">,
  isSandboxed: boolean,
  path = "response_headers",
): void {
  if (response_headers === null) return;
  const headers = JSON.parse(response_headers) as Record<string, string>;
  const names = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    const error = names.has(lower) ? "is there twice" : findError(name, value, isSandboxed);
    if (error !== null) throw invalid(`${path}.${name}`, error);
    if (cors !== null && isOfCors(lower)) throw invalid(`${path}.${name}`, 'is what "cors" says');
    names.add(lower);
  }
  const all = checkHeaders(headers, isSandboxed);
  if ("error" in all) throw invalid(path, all.error);
}

/** As of a flow's response (contract, section 4, number 11); what is left out there is refused. */
function findError(name: string, value: string, isSandboxed: boolean): string | null {
  if (OF_SERVICE.includes(name.toLowerCase())) return "is set by the service";
  const checked = checkHeaders({ [name]: value }, isSandboxed);
  if ("error" in checked) return checked.error;
  return checked.warnings.length === 0 ? null : "cannot be set by a webhook";
}
