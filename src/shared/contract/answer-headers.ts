import * as v from "valibot";
import type { Read } from "./read.ts";
import { FLAG } from "./scalar.ts";

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

/** The member `cors`. */
export const CORS = v.pipe(
  v.strictObject({
    origins: ORIGINS,
    credentials: v.optional(FLAG, false),
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

export type Cors = Read<typeof CORS>;

const MOST_HEADERS = 20;

/** The member `response_headers`. */
export const RESPONSE_HEADERS = v.pipe(
  v.record(v.string(), v.string("expected a string"), "expected an object of headers"),
  v.check(
    (headers) => Object.keys(headers).length <= MOST_HEADERS,
    `expected at most ${MOST_HEADERS} headers`,
  ),
);
