import { findTooDeep } from "../../shared/json-text.ts";
import type { FlowSchemas, SchemaText } from "../../shared/manifest.ts";
import { MAX_SCHEMA_BYTES } from "../../shared/wire/protocol.ts";
import {
  findEndlessReference,
  type JsonSchema,
  type JsonSchemaObject,
} from "./schema-references.ts";

/**
 * JSON Schemas as flows tell them (2020-12). A flow decides what stands in them, so that they are
 * read keyword by keyword: what is kept is a valid schema, and refers to nothing outside itself.
 */

/** Levels of lists and objects. */
const MAX_DEPTH = 100;

/** The schemas of a manifest, checked; one that cannot be used has a reason instead. */
export function checkSchemas(told: FlowSchemas | null): FlowSchemas {
  return { input: checkSchema(told?.input ?? null), output: checkSchema(told?.output ?? null) };
}

function checkSchema(told: SchemaText | null): SchemaText | null {
  if (told === null) return null;
  if (told.json === null) return { json: null, reason: told.reason.slice(0, 1000) };
  try {
    return { json: JSON.stringify(readJsonSchema(told.json)), reason: null };
  } catch (error) {
    return { json: null, reason: `It is no JSON Schema: ${(error as Error).message}` };
  }
}

/** The members that an object schema names; null where it is none, or there is none. */
export function membersOf(schema: SchemaText | null): readonly string[] | null {
  if (schema === null || schema.json === null) return null;
  const { type, properties } = JSON.parse(schema.json) as JsonSchemaObject;
  return type === "object" && isObject(properties) ? Object.keys(properties) : null;
}

/** @throws Error saying what is wrong */
export function readJsonSchema(text: string): JsonSchemaObject {
  if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES)
    throw new Error(`it has more than ${MAX_SCHEMA_BYTES} bytes`);
  if (findTooDeep(text, MAX_DEPTH) >= 0) throw new Error(`it has more than ${MAX_DEPTH} levels`);
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new Error("it is no object");
  const schema = readObject(value);
  const endless = findEndlessReference(schema);
  if (endless === null) return schema;
  throw new Error(`"${endless}" refers to itself without end`);
}

/** Takes what a keyword may have; undefined: it is left out. */
type Reader = (value: unknown) => unknown;

const TYPES: readonly unknown[] = [
  "null",
  "boolean",
  "object",
  "array",
  "number",
  "string",
  "integer",
];

const any: Reader = (value) => value;
const compared: Reader = (value) => requireNames(value);
const text: Reader = (value) => (typeof value === "string" ? value : undefined);
const flag: Reader = (value) => (typeof value === "boolean" ? value : undefined);
const number: Reader = (value) => (typeof value === "number" ? value : undefined);
const positive: Reader = (value) => (typeof value === "number" && value > 0 ? value : undefined);
const count: Reader = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? value : undefined;
const names: Reader = (value) =>
  isListOf(value, isString) ? [...new Set(value.map(requireName))] : undefined;
const values: Reader = (value) => (Array.isArray(value) && value.length > 0 ? value : undefined);

const KEYWORDS: Readonly<Record<string, Reader>> = {
  $comment: text,
  $defs: mapOf(readSchema),
  $ref: readReference,
  additionalProperties: readSchema,
  allOf: readList,
  anyOf: readList,
  const: compared,
  contains: readSchema,
  contentEncoding: text,
  contentMediaType: text,
  default: any,
  dependentRequired: mapOf(names),
  dependentSchemas: mapOf(readSchema),
  deprecated: flag,
  description: text,
  else: readSchema,
  enum: (value) => values(compared(value)),
  examples: values,
  exclusiveMaximum: number,
  exclusiveMinimum: number,
  format: text,
  if: readSchema,
  items: readSchema,
  maxContains: count,
  maxItems: count,
  maxLength: count,
  maxProperties: count,
  maximum: number,
  minContains: count,
  minItems: count,
  minLength: count,
  minProperties: count,
  minimum: number,
  multipleOf: positive,
  not: readSchema,
  oneOf: readList,
  pattern: (value) => (isPattern(value) ? value : undefined),
  patternProperties: mapOf(readSchema, isPattern),
  prefixItems: readList,
  properties: mapOf(readSchema),
  propertyNames: readSchema,
  readOnly: flag,
  required: names,
  then: readSchema,
  title: text,
  type: (value) => (isType(value) || isTypes(value) ? value : undefined),
  unevaluatedItems: readSchema,
  unevaluatedProperties: readSchema,
  uniqueItems: flag,
  writeOnly: flag,
};

function readSchema(value: unknown): JsonSchema | undefined {
  if (typeof value === "boolean") return value;
  return isObject(value) ? readObject(value) : undefined;
}

/** Keywords that are not known here say nothing (JSON Schema 2020-12, section 4.3.1). */
function readObject(value: object): JsonSchemaObject {
  const kept = Object.entries(value).flatMap(([keyword, given]) => {
    const read = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword]?.(given) : undefined;
    return read === undefined ? [] : [[keyword, read] as const];
  });
  return Object.fromEntries(kept);
}

function readList(value: unknown): JsonSchema[] | undefined {
  const all = Array.isArray(value) ? value.map(readSchema) : [];
  return all.length > 0 && all.every((schema) => schema !== undefined) ? all : undefined;
}

function mapOf(read: Reader, isName: (name: string) => boolean = () => true): Reader {
  return (value) => {
    if (!isObject(value)) return undefined;
    const entries = Object.entries(value).map(
      ([name, given]) => [requireName(name), read(given)] as const,
    );
    const kept = entries.filter(([name, given]) => given !== undefined && isName(name));
    return Object.fromEntries(kept);
  };
}

/** @throws Error for one that leads elsewhere: who reads the document would open it */
function readReference(value: unknown): string {
  if (typeof value === "string" && (value === "#" || /^#\/\$defs\/[^/]+$/.test(value)))
    return value;
  throw new Error(
    `its $ref ${JSON.stringify(value)?.slice(0, 100)} is not "#" or "#/$defs/<name>"`,
  );
}

/** A value with which inputs are compared: the names in it are those of members. */
function requireNames(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const [name, inner] of Object.entries(value)) {
    requireName(name);
    requireNames(inner);
  }
  return value;
}

/** @throws Error for half of a surrogate pair: no JSON Pointer can name it (RFC 6901, section 3) */
function requireName(name: string): string {
  if (name.isWellFormed()) return name;
  const shown = JSON.stringify(name.slice(0, 50));
  throw new Error(`the name ${shown} in it has half of a surrogate pair: write whole characters`);
}

function isPattern(value: unknown): value is string {
  if (typeof value !== "string") return false;
  try {
    new RegExp(value);
    return true;
  } catch {
    return false;
  }
}

function isTypes(value: unknown): boolean {
  return isListOf(value, isType) && value.length > 0;
}

function isType(value: unknown): value is string {
  return TYPES.includes(value);
}

function isListOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is Item[] {
  return Array.isArray(value) && value.every(isItem);
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
