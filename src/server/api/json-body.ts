import type { CarriedWebhook } from "../../shared/contract/webhook-document.ts";
import { RequestError } from "../../shared/errors.ts";
import type { JobOwner } from "../request/job-thread.ts";
import { membersOf } from "../request/json-members.ts";

/** The JSON bodies of management requests: what is large is not parsed in the HTTP loop. */

/** Bodies up to this size are parsed at once, in bytes. */
export const AT_ONCE = 64 * 1024;

/** Parses larger ones elsewhere, and moves their bytes there. */
export interface LargeBodies {
  members(bytes: Uint8Array, owner: JobOwner): Promise<[string, string][] | null>;
  document(bytes: Uint8Array, owner: JobOwner): Promise<CarriedWebhook[]>;
}

/** A member that is too large to be parsed in the HTTP loop: valid JSON, passed on as it is. */
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

/** @throws RequestError bad_body */
export function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    throw new RequestError("bad_body", `The body is not JSON: ${message}${adviseOn(text)}`);
  }
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
  const text = new TextDecoder().decode(bytes);
  const value = parseBody(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  if (Object.keys(value).length > MOST_MEMBERS)
    throw new RequestError("bad_body", `The body has more than ${MOST_MEMBERS} members`);
  const last = new Map<string, string>();
  for (const { name, valueStart, end } of membersOf(text))
    last.set(name, text.slice(valueStart, end));
  return [...last];
}

/** What a thread has split, with the small members parsed. */
export function joinMembers(members: readonly [name: string, text: string][] | null): unknown {
  if (members === null) return null;
  return Object.fromEntries(members.map(([name, text]) => [name, toMember(text)]));
}

function toMember(text: string): unknown {
  return text.length <= AT_ONCE || text.startsWith('"') ? JSON.parse(text) : new JsonText(text);
}
