import { isIP } from "node:net";
import * as v from "valibot";

/**
 * The kinds of value a key can have. Each says once, in words, what it expects: the words appear
 * in the documentation and in the message about a wrong value.
 */

/** How the text of an environment variable is read. */
export type Reading = "text" | "yaml" | "list";

/** What the schema tells about a key beside its type. */
export interface KeyFacts {
  readonly expected: string;
  readonly reading: Reading;
  /** The default in words, where the value alone does not say it. */
  readonly shown?: string;
}

type Parser<T> = v.GenericSchema<T>;

/** A value with its kind, to be given a default and a meaning by `key`. */
export interface Kind<T> {
  readonly schema: Parser<T>;
  readonly expected: string;
  readonly reading: Reading;
}

function kind<T>(expected: string, reading: Reading, schema: Parser<T>): Kind<T> {
  return { schema, expected, reading };
}

/** Whole numbers, both ends included. */
export function whole(min: number, max: number, unit = ""): Kind<number> {
  const expected = `a whole number${unit && ` of ${unit}`} from ${min} to ${max}`;
  const schema = v.pipe(
    v.number(expected),
    v.integer(expected),
    v.minValue(min, expected),
    v.maxValue(max, expected),
  );
  return kind(expected, "yaml", schema);
}

/** Seconds, fractions allowed, both ends included. */
export function seconds(min: number, max: number): Kind<number> {
  const expected = `seconds from ${min} to ${max}`;
  const schema = v.pipe(v.number(expected), v.minValue(min, expected), v.maxValue(max, expected));
  return kind(expected, "yaml", schema);
}

export function boolean(): Kind<boolean> {
  return kind("true or false", "yaml", v.boolean("true or false"));
}

export function choice<const T extends readonly string[]>(...options: T): Kind<T[number]> {
  const expected = options.map((option) => `\`${option}\``).join(" or ");
  return kind<T[number]>(expected, "text", v.picklist(options, expected));
}

/** A file or folder; relative ones start at the folder of the configuration file. */
export function path(what: "file" | "folder"): Kind<string> {
  const expected = `the path of a ${what}`;
  return text(expected, (value) => value.trim() !== "" && !value.includes("\0"));
}

/** A text that obeys a rule. */
export function text(expected: string, obeys: (value: string) => boolean): Kind<string> {
  return kind(expected, "text", v.pipe(v.string(expected), v.check(obeys, expected)));
}

export function list(item: Kind<string>, items: string): Kind<readonly string[]> {
  const expected = `a list of ${items}`;
  return kind<readonly string[]>(expected, "list", v.array(item.schema, expected));
}

export function orNull<T>(given: Kind<T>): Kind<T | null> {
  const expected = `${given.expected}, or null`;
  return kind(expected, given.reading, v.nullable(withMessage(given.schema, expected)));
}

export function orAuto(given: Kind<number>): Kind<number | "auto"> {
  const expected = `${given.expected}, or \`auto\``;
  const schema = v.union([v.literal("auto"), withMessage(given.schema, expected)], expected);
  return kind<number | "auto">(expected, given.reading, schema);
}

/** The same parser with other words: what it refuses is said once, for the whole kind. */
function withMessage<T>(schema: Parser<T>, expected: string): Parser<T> {
  return v.custom<T>((value) => v.is(schema, value), expected);
}

/** An address or a range of addresses in CIDR notation (RFC 4632, RFC 4291). */
export function isAddressRange(value: string): boolean {
  const [address = "", length, ...rest] = value.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  if (length === undefined) return true;
  return /^\d{1,3}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128);
}

/** What can be listened on; IPv6 addresses stand without brackets. */
export function isHost(value: string): boolean {
  return isIP(value) !== 0 || /^[^\s/:[\]]+$/.test(value);
}

/** An absolute http(s) URL that a path can be appended to. */
export function isBaseUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  return url.search === "" && url.hash === "" && url.username === "" && url.password === "";
}

/** 256 bits. */
export function isDataKey(value: string): boolean {
  return /^[0-9a-f]{64}$/i.test(value);
}

/** A file of SQLite, or a database of PostgreSQL with its host. */
export function isDatabaseUrl(value: string): boolean {
  if (/^sqlite:./.test(value)) return true;
  const url = /^postgres(ql)?:\/\//.test(value) ? URL.parse(value) : null;
  return url !== null && url.pathname.length > 1;
}
