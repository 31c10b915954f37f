import * as v from "valibot";
import { FLAG } from "./scalar.ts";

/** The member `idempotency` of a webhook: by what its calls are told apart. */

const FROM = v.pipe(
  v.string("expected a string"),
  v.regex(
    /^(?:header:[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}|query:[\x21-\x7e]{1,128}|json:(?:\/[^\n/]{0,128})+|scheme)$/,
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

export type Idempotency = v.InferOutput<typeof IDEMPOTENCY>;
