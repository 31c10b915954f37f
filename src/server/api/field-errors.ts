import * as v from "valibot";
import type { FieldError } from "../../shared/contract/problem.ts";
import { RequestError } from "../../shared/errors.ts";
import { describeUnknown } from "../../shared/nearest.ts";
import { describeFound, describeExpected } from "./found-value.ts";

/** More are of no use to anybody, and would make a long answer of a short request. */
export const MOST_FIELDS = 100;

/**
 * A value that came from outside, checked.
 *
 * @param what is checked, for what is wrong with the whole of it
 * @throws RequestError invalid, with each field that is wrong: what was expected and what was found
 */
export function check<const Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  what = "The body",
): v.InferOutput<Schema> {
  const lists = findLists(optionsOf(schema), value, []);
  if (lists.length > 0) throw invalidFields(lists.slice(0, MOST_FIELDS), what);
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const fields = result.issues
    .slice(0, MOST_FIELDS)
    .flatMap((issue) => toErrors(schema, issue, []))
    .slice(0, MOST_FIELDS);
  throw invalidFields(fields, what);
}

/** @param whole what is wrong where no member is named */
export function invalidFields(fields: readonly FieldError[], whole = "The body"): RequestError {
  const list = fields.map(({ field, message }) => `${field || whole}: ${message}`);
  return new RequestError("invalid", list.join("; "), { fields: [...fields] });
}

/**
 * Lists where an object alone is expected: they have members too, so that schemas of objects take
 * them for such. What no schema has is not looked into, however deep or wide somebody has made it.
 *
 * @param schemas any of which the value may fit
 */
function findLists(
  schemas: readonly Structure[],
  value: unknown,
  path: readonly string[],
): FieldError[] {
  if (schemas.length === 0 || typeof value !== "object" || value === null) return [];
  const isList = Array.isArray(value);
  if (isList && schemas.every(isObject))
    return [{ field: path.join("."), message: "expected an object, found a list" }];
  return Object.entries(value).flatMap(([name, member]) => {
    if (typeof member !== "object") return [];
    const next = schemas.map((one) => (isList ? one.item : (one.entries?.[name] ?? one.value)));
    const known = next.filter((one) => one !== undefined).flatMap(optionsOf);
    return findLists(known, member, [...path, name]);
  });
}

function isObject({ type, entries }: Structure): boolean {
  return entries !== undefined || type === "record";
}

type Issue = v.BaseIssue<unknown>;

/** @param above where the schema is, in the whole value */
function toErrors(schema: v.GenericSchema, issue: Issue, above: readonly string[]): FieldError[] {
  const keys = (issue.path ?? []).map(({ key }) => String(key));
  const path = [...above, ...keys];
  if (isUnknownKey(issue)) return toUnknown(schema, issue, path);
  const nested = issue.type === "union" ? findNested(schema, issue, keys) : null;
  if (nested !== null)
    return nested.issues.flatMap((one) => toErrors(nested.schema, one, path)).slice(0, MOST_FIELDS);
  return [{ field: path.join("."), message: toMessage(issue) }];
}

function isUnknownKey({ message, expected }: Issue): boolean {
  return message.startsWith("Invalid key: ") && expected === "never";
}

/** Each unknown member of the object, of which the schema tells the first alone. */
function toUnknown(schema: v.GenericSchema, issue: Issue, path: readonly string[]): FieldError[] {
  const known = namesAt(
    schema,
    (issue.path ?? []).slice(0, -1).map(({ key }) => String(key)),
  );
  const holder = issue.path?.at(-1)?.input as object;
  const unknown = Object.keys(holder).filter((name) => !known.includes(name));
  return unknown.slice(0, MOST_FIELDS).map((name) => ({
    field: [...path.slice(0, -1), name].join("."),
    message: describeUnknown(name, known),
  }));
}

/** What is wrong with an object, where only one kind of a union is an object. */
function findNested(
  schema: v.GenericSchema,
  { input, issues }: Issue,
  path: readonly string[],
): { schema: v.GenericSchema; issues: readonly Issue[] } | null {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const found = optionsOf(schemaAt(schema, path)).filter((one) => "entries" in one);
  const nested = (issues ?? []).filter(({ path: at }) => at !== undefined);
  const [only, ...others] = found;
  if (only === undefined || others.length > 0 || nested.length === 0) return null;
  return { schema: only, issues: nested };
}

/** The schemas' own words say what was expected; valibot's, where there are none, are made so. */
function toMessage(issue: Issue): string {
  const { message, received, input } = issue;
  if (received === "undefined" || input === undefined)
    return issue.type === "variant" ? `is required: ${message}` : "is required";
  const expected = message.startsWith("Invalid ") ? describeExpected(issue) : message;
  const isOfMembers = issue.type === "check" && typeof input === "object";
  const isComplete = !expected.startsWith("expected ") || isOfMembers;
  return isComplete ? expected : `${expected}, found ${describeFound(issue)}`;
}

/** As far as it is looked at here. */
interface Structure {
  readonly type: string;
  readonly entries?: Readonly<Record<string, v.GenericSchema>>;
  readonly item?: v.GenericSchema;
  readonly value?: v.GenericSchema;
  readonly wrapped?: v.GenericSchema;
  readonly options?: readonly v.GenericSchema[];
}

function namesAt(schema: v.GenericSchema, path: readonly string[]): string[] {
  const found = optionsOf(schemaAt(schema, path)) as Structure[];
  return [...new Set(found.flatMap(({ entries = {} }) => Object.keys(entries)))];
}

function schemaAt(schema: v.GenericSchema, path: readonly string[]): v.GenericSchema {
  const [name, ...rest] = path;
  if (name === undefined) return schema;
  const next = (optionsOf(schema) as Structure[])
    .map(({ entries, item, value }) => entries?.[name] ?? item ?? value)
    .find((found) => found !== undefined);
  return next === undefined ? schema : schemaAt(next, rest);
}

/** What a value may be: the schemas of a union, or the one that is optional. */
function optionsOf(schema: v.GenericSchema): v.GenericSchema[] {
  const { wrapped, options } = schema as Structure;
  if (wrapped !== undefined) return optionsOf(wrapped);
  const schemas = options?.filter((one) => typeof one === "object");
  return schemas === undefined || schemas.length === 0 ? [schema] : schemas.flatMap(optionsOf);
}
