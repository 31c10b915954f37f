import { Validator, type OutputUnit, type Schema } from "@cfworker/json-schema";
import type { FieldError } from "../../shared/contract/problem.ts";
import { toLenient } from "./lenient-schema.ts";
import { readWhole, showWhole } from "./whole-names.ts";

/** Checks an input against the JSON Schema of a flow; runs in a thread of the server's own. */

export interface SchemaVerdict {
  /** Where the input does not fit; empty: it does. */
  readonly errors: readonly FieldError[];
  /** Why the schema cannot be used; null: it was. */
  readonly unusable: string | null;
  /** Time that it took, in milliseconds. */
  readonly ms: number;
}

const MOST_ERRORS = 20;

/** In inputs up to this length, in UTF-16 units, all errors are looked for; in others the first. */
const MOST_TEXT = 256 * 1024;

/** @param given JSON texts */
export function checkAgainstSchema(given: {
  readonly schema: string;
  readonly input: string;
}): SchemaVerdict {
  const begun = performance.now();
  const opened = open(given.schema);
  if (typeof opened === "string") return { errors: [], unusable: opened, ms: 0 };
  const errors = findErrors(opened, given.input);
  return { errors, unusable: null, ms: performance.now() - begun };
}

interface Opened {
  /** Ends with the first error. */
  readonly quick: Validator;
  readonly whole: Validator;
}

/** Schemas that were opened, by their texts; the one that was opened first goes first. */
const kept = new Map<string, Opened>();

const MOST_KEPT = 100;

function open(text: string): Opened | string {
  const found = kept.get(text);
  if (found !== undefined) return found;
  try {
    const schema = toLenient(JSON.parse(text)) as Schema;
    const opened = {
      quick: new Validator(schema, "2020-12", true),
      whole: new Validator(schema, "2020-12", false),
    };
    if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value as string);
    kept.set(text, opened);
    return opened;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The schema leads to an end in any value: where it fails, the value is too deep or too large. */
function findErrors({ quick, whole }: Opened, input: string): FieldError[] {
  try {
    const value = readWhole(input);
    const first = quick.validate(value);
    if (first.valid) return [];
    const { errors } = input.length > MOST_TEXT ? first : whole.validate(value);
    return toFields(errors);
  } catch {
    return [{ field: "", message: "cannot be checked: it has too many levels or errors" }];
  }
}

/** Errors of what holds others say nothing that those do not say. */
const HOLDERS: readonly string[] = [
  "$ref",
  "additionalProperties",
  "allOf",
  "anyOf",
  "dependentSchemas",
  "if",
  "items",
  "patternProperties",
  "prefixItems",
  "properties",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
];

function toFields(errors: readonly OutputUnit[]): FieldError[] {
  const leaves = errors.filter(({ keyword }) => !HOLDERS.includes(keyword));
  // Of alternatives, "or null" is the last that a caller wants to hear.
  const wanted = leaves.filter(({ error }) => !error.endsWith('Expected "null".'));
  const fields = new Map<string, Set<string>>();
  for (const unit of wanted.length > 0 ? wanted : errors) {
    const field = toField(unit);
    if (!fields.has(field) && fields.size >= MOST_ERRORS) break;
    fields.set(field, (fields.get(field) ?? new Set()).add(toMessage(unit)));
  }
  return [...fields].map(([field, messages]) => {
    return { field, message: cut([...messages].slice(0, 5).join(" or ")) };
  });
}

/** Longest name or message, in characters. */
const MOST_WORDS = 300;

function cut(text: string): string {
  return text.length > MOST_WORDS ? `${text.slice(0, MOST_WORDS)}…` : text;
}

const MISSING =
  /^Instance (?:does not have required property|has ".*" but does not have) "(.*)"\.$/s;

/** `#/json/a~1b` as `json.a/b`; of a missing member its own name. */
function toField({ instanceLocation, error }: OutputUnit): string {
  const parts = instanceLocation.split("/").slice(1).map(unescape);
  const [, missing] = MISSING.exec(error) ?? [];
  return cut([...parts, ...(missing === undefined ? [] : [missing])].join("."));
}

function unescape(part: string): string {
  return showWhole(decodeURIComponent(part)).replaceAll("~1", "/").replaceAll("~0", "~");
}

/** In the words of the service's other refusals; values of the input are not repeated. */
function toMessage({ keyword, error }: OutputUnit): string {
  if (MISSING.test(error)) return "expected, but it is missing";
  const words = WORDS[keyword];
  const [, expected = ""] = words === undefined ? [] : (words.found.exec(error) ?? []);
  return words === undefined ? error : words.say(expected);
}

interface Words {
  readonly found: RegExp;
  say(expected: string): string;
}

const words = (found: RegExp, say: Words["say"]): Words => ({ found, say });

const WORDS: Readonly<Record<string, Words>> = {
  const: words(/^Instance does not match (.*)\.$/s, (value) => `expected ${value}`),
  enum: words(/any of \[(.*)\]\.$/s, (values) => `expected one of ${values.replaceAll(",", ", ")}`),
  exclusiveMaximum: words(/ (\S+)\.$/, (most) => `expected less than ${most}`),
  exclusiveMinimum: words(/ (\S+)\.$/, (least) => `expected more than ${least}`),
  false: words(/^/, () => "not known here"),
  maxItems: words(/> (\d+)\)\.$/, (most) => `expected at most ${most} items`),
  maxLength: words(/> (\d+)\)\.$/, (most) => `expected at most ${most} characters`),
  maximum: words(/ (\S+)\.$/, (most) => `expected at most ${most}`),
  minItems: words(/< (\d+)\)\.$/, (least) => `expected at least ${least} items`),
  minLength: words(/< (\d+)\)\.$/, (least) => `expected at least ${least} characters`),
  minimum: words(/ (\S+)\.$/, (least) => `expected at least ${least}`),
  multipleOf: words(/ (\S+)\.$/, (step) => `expected a multiple of ${step}`),
  not: words(/^/, () => "has a value that is not allowed"),
  pattern: words(/^/, () => "does not match the pattern"),
  type: words(/Expected "(.*)"\.$/, (types) => `expected ${types.replaceAll('", "', " or ")}`),
  uniqueItems: words(/^/, () => "has an item twice"),
};
