import { matchKey, type AcceptedKeys, type KeyKind } from "../access/api-key.ts";
import type { BodyLimit } from "../request/body.ts";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { readForm } from "../request/form.ts";
import { membersOf, type JsonMember } from "../request/json-members.ts";
import { isJson } from "../../shared/json-text.ts";
import { parseJson } from "../request/json.ts";
import { KEY } from "./target.ts";
import { parseYaml } from "./yaml.ts";

/** The body of a request, parsed by its type (section 4.1; contract, section 4, number 3). */
export interface Payload extends Parsed {
  /** As it was sent. */
  readonly text: string;
}

export interface Parsed {
  /** JSON text of the value; null: the body's own text is that. */
  readonly json: string | null;
  /** Which key the top-level member `key` is. */
  readonly key: KeyKind | null;
  /** The key itself, where it is one. */
  readonly keyText?: string;
  /** Whether a key was taken out, so that the body as it was sent is not to be passed on. */
  readonly isStripped: boolean;
}

export interface ParseRules {
  readonly type: PayloadType;
  /** Bytes, MAX_BODY_BYTES: aliases of YAML cannot make the value larger. */
  readonly limit: number;
  /** The keys of the webhook, which are taken out; null without one. */
  readonly accepted: AcceptedKeys | null;
  readonly at: number;
}

export type PayloadType = "json" | "yaml" | "form";

/** Bodies up to these sizes, in bytes, stop the HTTP loop for some milliseconds at most. */
const AT_ONCE = { json: 64 * 1024, form: 64 * 1024, yaml: 16 * 1024 };

/** What an alias of YAML begins with: a few of them make a value of any size. */
const ALIAS = 0x2a;

/** Names of JSON with escapes take several times as long. */
const ESCAPE = 0x5c;
const ESCAPED_AT_ONCE = 16 * 1024;

export function isParsedAtOnce(bytes: Uint8Array, type: PayloadType): boolean {
  if (bytes.length > AT_ONCE[type]) return false;
  if (type === "json") return bytes.length <= ESCAPED_AT_ONCE || !bytes.includes(ESCAPE);
  return type !== "yaml" || !bytes.includes(ALIAS);
}

/** The media type without parameters, in lower case; empty without one. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

export function toParseRules(
  type: PayloadType,
  limit: number,
  { key_hash, previous_key_hash, previous_key_until }: AcceptedKeys,
): ParseRules {
  const accepted = { key_hash, previous_key_hash, previous_key_until };
  return { type, limit, accepted: key_hash === null ? null : accepted, at: now() };
}

/** @throws RequestError bad_body naming line and column; unsupported_type for JSON sent as a form */
export function parsePayload(text: string, rules: ParseRules): Parsed {
  if (rules.type === "json") return parseAsJson(text, rules);
  return rules.type === "yaml" ? parseAsYaml(text, rules) : parseAsForm(text, rules);
}

const YAML_TYPES = ["application/yaml", "application/x-yaml", "text/yaml"];

export function isJsonType(mediaType: string): boolean {
  return mediaType === "application/json" || /^[\w.!#$&^-]+\/[\w.!#$&^-]+\+json$/.test(mediaType);
}

/** @throws RequestError unsupported_type */
export function payloadTypeOf(type: string): PayloadType {
  if (isJsonType(type)) return "json";
  if (YAML_TYPES.includes(type)) return "yaml";
  if (type === "application/x-www-form-urlencoded") return "form";
  const found = type === "" ? "a body without Content-Type" : `Content-Type "${type}"`;
  throw new RequestError(
    "unsupported_type",
    `Found ${found}, expected application/json, application/yaml or ` +
      `application/x-www-form-urlencoded`,
  );
}

/** Longest YAML in bytes: it takes fifty times as long as JSON to parse. */
const MOST_YAML_BYTES = 1024 * 1024;

/** The most that is read of a body of a media type. */
export function limitOf(type: string, maxBodyBytes: number): BodyLimit {
  if (!YAML_TYPES.includes(type) || maxBodyBytes <= MOST_YAML_BYTES)
    return { bytes: maxBodyBytes, what: "" };
  return { bytes: MOST_YAML_BYTES, what: ", which is the most for YAML" };
}

function parseAsJson(text: string, { accepted, at }: ParseRules): Parsed {
  const value = parseJson(text);
  const own = text.startsWith("\uFEFF") ? text.slice(1) : null;
  if (accepted === null || !isRecord(value) || !Object.hasOwn(value, KEY))
    return { json: own, key: null, isStripped: false };
  const key = typeof value[KEY] === "string" ? matchKey(value[KEY], accepted, at) : null;
  const stripped = withoutKeys(text, (found) => matchKey(found, accepted, at) !== null);
  const parsed = { json: stripped ?? own, key, isStripped: stripped !== null };
  return key === null ? parsed : { ...parsed, keyText: value[KEY] as string };
}

/** The object without the members `key` that hold the key, repeated ones as well; null: none does. */
function withoutKeys(text: string, isKey: (value: string) => boolean): string | null {
  const kept: string[] = [];
  let count = 0;
  for (const member of membersOf(text)) {
    count += 1;
    if (!holdsKey(text, member, isKey)) kept.push(text.slice(member.start, member.end));
  }
  return kept.length === count ? null : `{${kept.join(",")}}`;
}

function holdsKey(
  text: string,
  { name, valueStart, end }: JsonMember,
  isKey: (value: string) => boolean,
): boolean {
  if (name !== KEY || text[valueStart] !== '"') return false;
  return isKey(JSON.parse(text.slice(valueStart, end)) as string);
}

function parseAsYaml(text: string, { limit, accepted, at }: ParseRules): Parsed {
  const value = parseYaml(text, limit);
  const held =
    accepted !== null && isRecord(value) && Object.hasOwn(value, KEY) ? value[KEY] : null;
  const isStripped =
    accepted !== null && typeof held === "string" && matchKey(held, accepted, at) !== null;
  if (isStripped) delete (value as Record<string, unknown>)[KEY];
  return { json: JSON.stringify(value), key: null, isStripped };
}

function parseAsForm(text: string, { accepted, at }: ParseRules): Parsed {
  if (/^\s*[{[]/.test(text) && isJson(text))
    throw new RequestError(
      "unsupported_type",
      "The body is JSON but was sent as application/x-www-form-urlencoded. " +
        'Add the header: curl -H "Content-Type: application/json"',
    );
  const plain = toPlain(readForm(text));
  if (accepted === null || !(KEY in plain))
    return { json: JSON.stringify(plain), key: null, isStripped: false };
  // A repeated name is not passed on, but would stand in the body as it was sent.
  const values = [...readForm(text)].filter(([name]) => name === KEY).map(([, value]) => value);
  const isKey = (value: string): boolean => matchKey(value, accepted, at) !== null;
  if (isKey(plain[KEY])) delete plain[KEY];
  return { json: JSON.stringify(plain), key: null, isStripped: values.some(isKey) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Of a repeated name the first value; any name is only a name, `__proto__` too. */
export function toPlain(pairs: Iterable<[string, string]>): Record<string, string> {
  const plain = Object.create(null) as Record<string, string>;
  for (const [name, value] of pairs) if (!(name in plain)) plain[name] = value;
  return plain;
}
