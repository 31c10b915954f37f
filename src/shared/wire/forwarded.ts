import { MAX_FRAME } from "./frames.ts";

/**
 * Where threads cannot connect to the server, their runner forwards what both say: such a text is a
 * part of JSON, and longer there by its quotes and its signs of control.
 */

/** Longest text that a thread can be given, in bytes as they are forwarded: a frame has its head too. */
export const MAX_GIVEN = MAX_FRAME - 2 ** 20;

/** Most bytes of a UTF-16 unit in JSON. */
const UNIT_BYTES = 6;

/** What is measured at once, in UTF-16 units: not all of a long text is made once more. */
const PART = 2 ** 20;

/** Bytes of texts where they are forwarded, if a thread cannot be given as many; null: it can. */
export function excessBytes(text: string, other = ""): number | null {
  // To measure long ones takes its time.
  if ((text.length + other.length) * UNIT_BYTES <= MAX_GIVEN) return null;
  const bytes = forwardedBytes(text) + forwardedBytes(other);
  return bytes > MAX_GIVEN ? bytes : null;
}

function forwardedBytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += PART)
    bytes += Buffer.byteLength(JSON.stringify(text.slice(at, at + PART))) - '""'.length;
  return bytes;
}
