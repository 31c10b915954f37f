import * as v from "valibot";
import { ALGORITHMS, SCHEME_NAMES } from "./signature-scheme.ts";

/** The member `signature` of a webhook: how its calls are signed. */

const HEADER = v.pipe(
  v.string("expected the name of a header"),
  v.maxLength(128, "expected at most 128 characters"),
  v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "expected the name of a header"),
  v.toLowerCase(),
);

const PARAMETER = v.pipe(
  v.string("expected a name"),
  v.regex(/^[\w.-]{1,64}$/, "expected a name of up to 64 letters, digits, - . and _"),
);

const SHORT = v.pipe(
  v.string("expected a string"),
  v.regex(/^[\x20-\x7e]{0,256}$/, "expected up to 256 visible ASCII characters"),
);

/** As the sender has it: in some a line feed or a tab stands between the parts. */
const MESSAGE = v.pipe(
  v.string("expected a string"),
  v.regex(/^[^\0]{0,256}$/, "expected up to 256 characters, none of them NUL"),
);

const UNIT = v.picklist(["s", "ms"], 'expected "s" or "ms"');
const ENCODING = v.picklist(["hex", "base64"], 'expected "hex" or "base64"');
const SECRET_ENCODING = v.picklist(["utf8", "hex", "base64"], 'expected "utf8", "hex" or "base64"');
const SEPARATOR = v.nullable(v.picklist([",", " ", ";"], 'expected ",", " ", ";" or null'));

const TIME = v.strictObject({
  header: v.optional(HEADER),
  parameter: v.optional(PARAMETER),
  unit: v.optional(UNIT, "s"),
});

const CUSTOM = v.strictObject({
  algorithm: v.picklist(ALGORITHMS, `expected one of ${ALGORITHMS.join(", ")}`),
  header: HEADER,
  prefix: v.optional(SHORT),
  separator: v.optional(SEPARATOR),
  parameter: v.optional(v.nullable(PARAMETER)),
  encoding: v.optional(ENCODING),
  secret_encoding: v.optional(SECRET_ENCODING),
  message: v.optional(MESSAGE),
  timestamp: v.optional(v.nullable(TIME)),
  id_header: v.optional(v.nullable(HEADER)),
});

export type GivenCustom = v.InferOutput<typeof CUSTOM>;

const MOST_SECRETS = 5;

const SECRETS = v.pipe(
  v.array(v.string("expected the name of a secret"), "expected names of secrets"),
  v.minLength(1, "expected at least 1 secret"),
  v.maxLength(MOST_SECRETS, `expected at most ${MOST_SECRETS} secrets`),
);

/** As it is given. */
export const SIGNATURE_INPUT = v.strictObject({
  scheme: v.picklist(SCHEME_NAMES, `expected one of ${SCHEME_NAMES.join(", ")}`),
  secrets: SECRETS,
  mode: v.optional(
    v.picklist(["enforce", "observe"], 'expected "enforce" or "observe"'),
    "enforce",
  ),
  tolerance_sec: v.optional(
    v.nullable(
      v.pipe(
        v.number("expected a number"),
        v.integer("expected a whole number"),
        v.minValue(0, "expected at least 0"),
        v.maxValue(3600, "expected at most 3600"),
      ),
    ),
  ),
  custom: v.optional(v.nullable(CUSTOM)),
});

export type GivenSignature = v.InferOutput<typeof SIGNATURE_INPUT>;

/** As it is read: with what was left out, but for what the scheme does not have. */
export const SIGNATURE = v.strictObject({
  scheme: v.picklist(SCHEME_NAMES),
  secrets: v.array(v.string()),
  mode: v.picklist(["enforce", "observe"]),
  tolerance_sec: v.nullable(v.number()),
  custom: v.nullable(CUSTOM),
});
