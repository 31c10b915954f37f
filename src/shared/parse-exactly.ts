import { charCodeAt, defineProperty, indexOf, parse, push, slice } from "./intrinsics.ts";
import { endOfString } from "./json-text.ts";

/**
 * Until nodejs/node#63785 is mended, JSON.parse of V8 takes a name that is written with an escape for
 * another one, with a backslash, where an object of the same shape has had that: after
 * `{"x":0,"\\":1}` of one caller, `{"x":0,"\n":1}` of the next one has its name. So texts with such
 * names, and no others, are read here, scalar by scalar.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const LIST = 0x5b;
const LIST_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;

/**
 * JSON.parse, whatever was parsed before.
 *
 * @param toName gives the names in the value to those with an escape
 * @throws {SyntaxError} what JSON.parse throws
 */
export function parseExactly(text: string, toName?: (name: string) => string): unknown {
  return parseScalars(text, parse, toName);
}

/**
 * As `parseExactly`, and the scalars as a function reads them.
 *
 * @param toScalar reads a whole text as well, where no name in it has an escape
 */
export function parseScalars(
  text: string,
  toScalar: (json: string) => unknown,
  toName?: (name: string) => string,
): unknown {
  const value = toScalar(text);
  if (!hasEscapedName(text)) return value;
  return readValue({ text, at: 0, toScalar, toName });
}

/** Whether the name of a member is written with an escape, in JSON. */
function hasEscapedName(text: string): boolean {
  const first = indexOf(text, "\\");
  if (first < 0) return false;
  for (let at = indexOf(text, '"'); at >= 0; at = indexOf(text, '"', at)) {
    const end = endOfString(text, at) + 1;
    const next = skipBlanks(text, end);
    if (charCodeAt(text, next) === COLON && end > first && indexOf(slice(text, at, end), "\\") > 0)
      return true;
    at = end;
  }
  return false;
}

/** A text that JSON.parse takes, and how far it is read. */
interface Reading {
  readonly text: string;
  at: number;
  readonly toScalar: (json: string) => unknown;
  readonly toName: ((name: string) => string) | undefined;
}

function readValue(reading: Reading): unknown {
  const first = next(reading);
  if (first === OBJECT) return readObject(reading);
  if (first === LIST) return readList(reading);
  return reading.toScalar(first === QUOTE ? takeString(reading) : takeScalar(reading));
}

function readObject(reading: Reading): object {
  const object = {};
  reading.at += 1;
  while (next(reading) !== OBJECT_END) {
    if (next(reading) === COMMA) reading.at += 1;
    const name = readName(reading);
    next(reading);
    // The colon.
    reading.at += 1;
    // Not by assignment: "__proto__" is a name like any other.
    defineProperty(object, name, toMember(readValue(reading)));
  }
  reading.at += 1;
  return object;
}

function readName(reading: Reading): string {
  next(reading);
  const written = takeString(reading);
  const name = parse(written) as string;
  const isPlain = reading.toName === undefined || indexOf(written, "\\") < 0;
  return isPlain ? name : reading.toName(name);
}

function readList(reading: Reading): unknown[] {
  const list: unknown[] = [];
  reading.at += 1;
  while (next(reading) !== LIST_END) {
    if (next(reading) === COMMA) reading.at += 1;
    push(list, readValue(reading));
  }
  reading.at += 1;
  return list;
}

/** Without a prototype: a flow could have given that a getter. */
function toMember(value: unknown): PropertyDescriptor {
  const member = { __proto__: null, value, configurable: true, enumerable: true, writable: true };
  return member;
}

/** Passes blanks over. */
function next(reading: Reading): number {
  reading.at = skipBlanks(reading.text, reading.at);
  return charCodeAt(reading.text, reading.at);
}

function takeString(reading: Reading): string {
  return take(reading, endOfString(reading.text, reading.at) + 1);
}

function takeScalar(reading: Reading): string {
  let end = reading.at;
  while (end < reading.text.length && !isEnd(charCodeAt(reading.text, end))) end += 1;
  return take(reading, end);
}

function take(reading: Reading, end: number): string {
  const taken = slice(reading.text, reading.at, end);
  reading.at = end;
  return taken;
}

function isEnd(code: number): boolean {
  return code === COMMA || code === LIST_END || code === OBJECT_END || isBlank(code);
}

function skipBlanks(text: string, start: number): number {
  let at = start;
  while (isBlank(charCodeAt(text, at))) at += 1;
  return at;
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
