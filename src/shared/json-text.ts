import { charCodeAt, indexOf } from "./intrinsics.ts";

/** Looks at texts that others have made and that are passed on as JSON. */

/** Whether a text is JSON (RFC 8259), one value and nothing after it. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Where lists and objects in a JSON text nest deeper than a limit; -1: nowhere. */
export function findTooDeep(text: string, most: number): number {
  // Nothing so short can be.
  if (text.length <= most) return -1;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = charCodeAt(text, at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === 0x5b || code === 0x7b) depth += 1;
    else if (code === 0x5d || code === 0x7d) depth -= 1;
    if (depth > most) return at;
  }
  return -1;
}

/**
 * The offset of the quote that ends a string: one with an even number of backslashes before it.
 *
 * @param start offset of the quote that opens it
 */
export function endOfString(text: string, start: number): number {
  for (let at = indexOf(text, '"', start + 1); at >= 0; at = indexOf(text, '"', at + 1)) {
    let escapes = at;
    while (charCodeAt(text, escapes - 1) === BACKSLASH) escapes -= 1;
    if ((at - escapes) % 2 === 0) return at;
  }
  return text.length;
}
