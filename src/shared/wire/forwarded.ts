import { MAX_FRAME } from "./frames.ts";

/**
 * Where threads cannot connect to the server, their runner forwards what both say: such a text is a
 * part of JSON, and longer there by its quotes and its signs of control.
 */

/** Longest text that a thread can be given, in bytes as they are forwarded: a frame has its head too. */
export const MAX_GIVEN = MAX_FRAME - 2 ** 20;

/** Most bytes of a UTF-16 unit in JSON. */
const UNIT_BYTES = 6;

/** Whether texts are carried, forwarded or not: to measure long ones takes its time. */
export function isSurelyCarried(units: number): boolean {
  return units * UNIT_BYTES <= MAX_GIVEN;
}

/** What is measured at once, in UTF-16 units: not all of a long text is made once more. */
const PART = 2 ** 20;

/** Bytes of a text where it is forwarded. */
export function forwardedBytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += PART)
    bytes += Buffer.byteLength(JSON.stringify(text.slice(at, at + PART))) - '""'.length;
  return bytes;
}
