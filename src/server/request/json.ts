import { RequestError } from "../../shared/errors.ts";
import { findTooDeep } from "../../shared/json-text.ts";
import { parseExactly } from "../../shared/parse-exactly.ts";
import { describePosition, MAX_DEPTH } from "./position.ts";

/**
 * Parses a body as JSON (RFC 8259); a byte order mark at the start is passed over. What is wrong is
 * said without the words of V8, which repeat what stands around it: it may be a password.
 *
 * @throws RequestError bad_body naming line and column
 */
export function parseJson(text: string, deepest = MAX_DEPTH): unknown {
  requireShallow(text, deepest);
  try {
    return parseExactly(text.startsWith("\uFEFF") ? text.slice(1) : text);
  } catch (error) {
    const at = findError(text);
    const found =
      at < text.length ? `found ${JSON.stringify(text[at])}` : "the text ends too early";
    const position = describePosition(text, at);
    throw new RequestError("bad_body", `The body is not JSON: ${found} at ${position}`, {
      cause: error,
    });
  }
}

/** Nothing deep is ever parsed. */
function requireShallow(text: string, deepest: number): void {
  const at = findTooDeep(text, deepest);
  if (at < 0) return;
  throw new RequestError(
    "bad_body",
    `The body is nested deeper than ${deepest} levels at ${describePosition(text, at)}`,
  );
}

const TOKEN =
  /[\t\n\r ]*(?:([[\]{}:,"])|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)\b))/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** What may come next: a value, a name, a colon, or what follows a value. */
type Expected = "value" | "value or ]" | "name" | "name or }" | ":" | "next";

/**
 * The offset of the first character that cannot stand in JSON, because V8 names it in some of
 * its messages only. Reads the text once more, after JSON.parse has refused it.
 */
function findError(text: string): number {
  const open: string[] = [];
  let expected: Expected = "value";
  TOKEN.lastIndex = text.startsWith("\uFEFF") ? 1 : 0;
  for (;;) {
    const before = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) return skipBlanks(text, before);
    const kind = match[1] ?? "scalar";
    const next = follow(kind, expected, open);
    if (next === null) return skipBlanks(text, before);
    expected = next;
    if (kind !== '"') continue;
    const end = findEndOfString(text, TOKEN.lastIndex);
    if (text[end] !== '"') return end;
    TOKEN.lastIndex = end + 1;
  }
}

/** The offset of the closing quote, or of what cannot stand in a string. */
function findEndOfString(text: string, start: number): number {
  let at = start;
  while (at < text.length && text[at] !== '"') {
    if (text.charCodeAt(at) < 0x20) return at;
    ESCAPE.lastIndex = at;
    if (text[at] !== "\\") at += 1;
    else if (ESCAPE.test(text)) at = ESCAPE.lastIndex;
    else return at;
  }
  return at;
}

function skipBlanks(text: string, at: number): number {
  let found = at;
  while (found < text.length && "\t\n\r ".includes(text[found] as string)) found += 1;
  return found;
}

/** The state after a token; null where the token cannot stand. */
function follow(kind: string, expected: Expected, open: string[]): Expected | null {
  const takesValue = expected === "value" || expected === "value or ]";
  if (kind === "[" || kind === "{") {
    if (!takesValue) return null;
    open.push(kind);
    return kind === "[" ? "value or ]" : "name or }";
  }
  if (kind === "]" || kind === "}") {
    const isEmpty = expected === (kind === "]" ? "value or ]" : "name or }");
    if (!isEmpty && expected !== "next") return null;
    return open.pop() === (kind === "]" ? "[" : "{") ? "next" : null;
  }
  if (kind === ":") return expected === ":" ? "value" : null;
  if (kind === ",") {
    if (expected !== "next" || open.length === 0) return null;
    return open.at(-1) === "[" ? "value" : "name";
  }
  if (kind === '"' && (expected === "name" || expected === "name or }")) return ":";
  // Only a string can be a name; a scalar or string can stand wherever a value can.
  return takesValue ? "next" : null;
}
