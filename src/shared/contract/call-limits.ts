import * as v from "valibot";

/** From where, how and with how much a webhook may be called. */

const METHOD_NAMES = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

export const METHODS = v.pipe(
  v.array(
    v.picklist(METHOD_NAMES, `expected one of ${METHOD_NAMES.join(", ")}`),
    `expected a list of ${METHOD_NAMES.join(", ")}`,
  ),
  v.minLength(1, "expected at least 1 method"),
  v.check((methods) => new Set(methods).size === methods.length, "has a method twice"),
);

export const MAX_BODY = v.pipe(
  v.number("expected a number"),
  v.integer("expected a whole number"),
  v.minValue(1, "expected at least 1"),
);

const MOST_ADDRESSES = 100;

export const ADDRESSES = v.pipe(
  v.array(v.string("expected an address or a range"), "expected a list of addresses and ranges"),
  v.maxLength(MOST_ADDRESSES, `expected at most ${MOST_ADDRESSES}`),
);
