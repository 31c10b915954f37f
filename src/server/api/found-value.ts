import type { BaseIssue } from "valibot";
import { JsonText } from "./json-body.ts";

/** Words for what was expected and what was found; secrets are never repeated. */

const SECRET = /^(?:.*password|key|value|token|secret)$/;

/** Of a text, in UTF-16 units. */
const LONGEST = 40;

const KINDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  Array: "a list",
  Object: "an object",
  null: "null",
};

/** What valibot expected, in words that follow "expected". */
export function describeExpected({ expected, message }: BaseIssue<unknown>): string {
  const kinds = (expected ?? "").replace(/^\((.*)\)$/, "$1").split(" | ");
  if (kinds.every((kind) => kind in KINDS || /^["\d]/.test(kind)))
    return `expected ${kinds.map((kind) => KINDS[kind] ?? kind).join(" or ")}`;
  return message.replace(/^Invalid \w+: Expected (.*?)(?: but received .*)?$/s, "expected $1");
}

export function describeFound(issue: BaseIssue<unknown>): string {
  const { type, received, input, path } = issue;
  if (/^(?:min|max)_length$/.test(type)) return String(received);
  return describeValue(input, isSecret(path?.at(-1)?.key));
}

function isSecret(member: unknown): boolean {
  return typeof member === "string" && SECRET.test(member);
}

function describeValue(value: unknown, isHidden: boolean): string {
  if (value === null) return "null";
  if (value instanceof JsonText) return "a large value";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  if (typeof value === "string") return isHidden ? "another text" : quote(value);
  if (typeof value !== "number" && typeof value !== "boolean") return typeof value;
  return isHidden ? `a ${typeof value}` : String(value);
}

function quote(text: string): string {
  return JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}
