import * as v from "valibot";
import { readRange } from "../access/address-list.ts";
import { invalid } from "./named.ts";

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

/** @throws RequestError invalid naming the one that is wrong */
export function toAddressColumn(
  given: readonly string[],
  path = "allowed_addresses",
): string | null {
  for (const [at, text] of given.entries()) {
    const range = readRange(text);
    if (typeof range === "string") throw invalid(`${path}.${at}`, range);
  }
  return given.length === 0 ? null : JSON.stringify(given);
}

export function showAddresses(column: string | null): string[] {
  return column === null ? [] : (JSON.parse(column) as string[]);
}

/** @throws RequestError invalid: what is parsed is never larger than that */
export function requireBodyLimit(
  { max_body_bytes }: { readonly max_body_bytes: number | null },
  most: number,
  path = "max_body_bytes",
): void {
  if (max_body_bytes !== null && max_body_bytes > most)
    throw invalid(path, `expected at most ${most}, which is MAX_BODY_BYTES`);
}
