import { readRange } from "../access/address-list.ts";
import { invalid } from "./named.ts";

/** From where, how and with how much a webhook may be called, as its row has it. */

/** @throws RequestError invalid naming the one that is wrong */
export function toAddressColumn(
  given: readonly string[],
  path = "allowed_addresses",
): string | null {
  for (const [at, text] of given.entries()) {
    const range = readRange(text);
    if (typeof range === "string")
      throw invalid(`${path}.${at}`, `${range}, found ${JSON.stringify(text.slice(0, 40))}`);
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
