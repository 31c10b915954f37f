import { parseExactly } from "../../shared/parse-exactly.ts";

/**
 * Names of members with half of a surrogate pair, as JSON can write them: no JSON Pointer can tell where
 * such a member is (RFC 6901, section 3), and the library that checks inputs throws on them. Each half
 * is a private character instead, of the same length, so that no two names become one.
 */

/** The private character of the half D800. */
const FIRST = 0x0f_0000;

const HALF = /[\ud800-\udfff]/gu;
const STAND_IN = /[\u{f0000}-\u{f07ff}]/gu;

/** A JSON text as a value, with whole characters in its names: halves are written as escapes. */
export function readWhole(text: string): unknown {
  return parseExactly(text, (name) => name.replace(HALF, standIn));
}

function standIn(half: string): string {
  return String.fromCodePoint(FIRST + half.charCodeAt(0) - 0xd800);
}

/** A name for people. */
export function showWhole(name: string): string {
  return name.replace(STAND_IN, "\ufffd");
}
