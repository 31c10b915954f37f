import { endOfString } from "../../shared/json-text.ts";

/** A member of a JSON object, as it stands in the text. */
export interface JsonMember {
  readonly name: string;
  /** Offsets of the whole member, and of its value to the same end. */
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

const QUOTE = 0x22;

/**
 * The members of the object that a valid JSON text holds, repeated names as well; none where it
 * holds no object. The values are passed over unparsed.
 */
export function* membersOf(text: string): Generator<JsonMember> {
  let at = skipBlanks(text, text.startsWith("\uFEFF") ? 1 : 0);
  if (text[at] !== "{") return;
  at = skipBlanks(text, at + 1);
  while (text[at] !== "}") {
    const start = at;
    const endOfName = endOfString(text, at) + 1;
    const valueStart = skipBlanks(text, skipBlanks(text, endOfName) + 1);
    const end = endOfValue(text, valueStart);
    const name = JSON.parse(text.slice(start, endOfName)) as string;
    yield { name, start, valueStart, end };
    at = skipBlanks(text, end);
    if (text[at] === ",") at = skipBlanks(text, at + 1);
  }
}

/** Behind a value of valid JSON. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === 0x5b || code === 0x7b) depth += 1;
    else if (code === 0x5d || code === 0x7d) depth -= 1;
    // The comma or the bracket behind a scalar is none of it.
    else if (depth === 0 && (code === 0x2c || isBlank(code))) return at;
    if (depth < 0) return at;
    if (depth === 0 && (code === QUOTE || code === 0x5d || code === 0x7d)) return at + 1;
  }
  return text.length;
}

function skipBlanks(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return at;
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
