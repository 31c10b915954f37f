import type { GenericSchema } from "valibot";
import type { CarriedWebhook } from "../../shared/contract/webhook-document.ts";
import { RequestError } from "../../shared/errors.ts";
import { parseExactly } from "../../shared/parse-exactly.ts";
import { MAX_DEPTH } from "../../shared/wire/protocol.ts";
import { decodeText } from "../request/body.ts";
import type { JobOwner } from "../request/job-thread.ts";
import { parseJson } from "../request/json.ts";
import { membersOf } from "../request/json-members.ts";

/** The JSON bodies of management requests: what is large is not parsed in the HTTP loop. */

/** Bodies up to this size are parsed at once, in bytes. */
export const AT_ONCE = 64 * 1024;

/** Parses larger ones elsewhere, and moves their bytes there. */
export interface LargeBodies {
  members(bytes: Uint8Array, owner: JobOwner): Promise<[string, string][] | null>;
  document(bytes: Uint8Array, owner: JobOwner): Promise<CarriedWebhook[]>;
}

/**
 * A member that is passed on as it was sent, valid JSON: it may be any, and parsed its numbers would
 * lose digits, or it is too large to be parsed in the HTTP loop.
 */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The JSON text of a member of a body. */
export function toJsonText(value: unknown): string {
  return value instanceof JsonText ? value.text : JSON.stringify(value ?? null);
}

/** What flows may give and get, in the one member of a body that may hold it. */
const DEEPEST = MAX_DEPTH + 1;

/** @throws RequestError bad_body where the bytes are not UTF-8: else other texts would be stored */
export function toText(bytes: Uint8Array): string {
  const text = decodeText(bytes);
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** @throws RequestError bad_body */
export function parseBody(text: string): unknown {
  try {
    return parseJson(text, DEEPEST);
  } catch (error) {
    throw new RequestError("bad_body", `${(error as Error).message}${adviseOn(text)}`);
  }
}

/** A body that is parsed at once; members that may hold any JSON stay texts. */
export function readBody(text: string, schema: GenericSchema): unknown {
  const value = parseBody(text);
  const names = passedOn(schema);
  if (names.length === 0) return value;
  const texts = [...membersOf(text)]
    .filter(({ name }) => names.includes(name))
    .map(({ name, valueStart, end }) => [name, new JsonText(text.slice(valueStart, end))]);
  return texts.length === 0 ? value : { ...(value as object), ...Object.fromEntries(texts) };
}

/** Names of the members that may hold any JSON. */
function passedOn(schema: GenericSchema): string[] {
  const { entries = {} } = schema as { entries?: Readonly<Record<string, AnyEntry>> };
  const isAny = ({ type, wrapped = { type } }: AnyEntry): boolean => wrapped.type === "unknown";
  return Object.keys(entries).filter((name) => isAny(entries[name] as AnyEntry));
}

/** As far as it is looked at here. */
interface AnyEntry {
  readonly type: string;
  /** Of one that may be left out. */
  readonly wrapped?: { readonly type: string };
}

/** What a body that is no JSON was meant to be, as far as it can be told. */
function adviseOn(text: string): string {
  const start = text.slice(0, 200).trim();
  if (/^[\w.-]+=/.test(start)) return '. It is a form: expected an object, as {"name": "value"}';
  if (/^[\w-]+:(?:\s|$)/.test(start) || start.startsWith("---"))
    return '. It looks like YAML: expected JSON, as {"name": "value"}';
  if (/^[{[]\s*'/.test(start)) return ". Names and texts have double quotes in JSON";
  if (/^\{\s*[A-Za-z_]/.test(start))
    return ". Names have double quotes in JSON: a shell takes them away unless the body is in single quotes";
  if (start.startsWith("@")) return ". curl sends a file with -d @FILE, but not with --data-raw";
  return "";
}

/** No resource has nearly as many. */
const MOST_MEMBERS = 1000;

/**
 * The members of a large body, each as its JSON text; null where it is no object.
 *
 * @throws RequestError bad_body
 */
export function readMembers(bytes: Uint8Array): [name: string, text: string][] | null {
  const text = toText(bytes);
  const value = parseBody(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  if (Object.keys(value).length > MOST_MEMBERS)
    throw new RequestError("bad_body", `The body has more than ${MOST_MEMBERS} members`);
  const last = new Map<string, string>();
  for (const { name, valueStart, end } of membersOf(text))
    last.set(name, text.slice(valueStart, end));
  return [...last];
}

/** What a thread has split, with the small members parsed unless they may hold any JSON. */
export function joinMembers(
  members: readonly [name: string, text: string][] | null,
  schema: GenericSchema,
): unknown {
  if (members === null) return null;
  const names = passedOn(schema);
  const toValue = (name: string, text: string): unknown =>
    names.includes(name) ? new JsonText(text) : toMember(text);
  return Object.fromEntries(members.map(([name, text]) => [name, toValue(name, text)]));
}

function toMember(text: string): unknown {
  return text.length <= AT_ONCE || text.startsWith('"') ? parseExactly(text) : new JsonText(text);
}
