/** JSON Schemas, and references within one: "#" and "#/$defs/<name>". */

export type JsonSchema = boolean | JsonSchemaObject;

export interface JsonSchemaObject {
  readonly [keyword: string]: unknown;
}

/**
 * A reference that leads back to itself without a step into the value, so that no check of it ends;
 * null: there is none.
 *
 * @throws Error for one that leads to nothing
 */
export function findEndlessReference(root: JsonSchemaObject): string | null {
  const targets = ["#", ...Object.keys(definitionsOf(root)).map(toReference)];
  requireTargets(root, root);
  const done = new Set<string>();
  return targets.find((target) => isEndless(root, target, done, new Set())) ?? null;
}

/** The schema that a reference leads to; undefined: nothing. */
export function followReference(root: JsonSchemaObject, reference: string): JsonSchema | undefined {
  if (reference === "#") return root;
  const definitions = definitionsOf(root);
  const name = toName(reference);
  return Object.hasOwn(definitions, name) ? definitions[name] : undefined;
}

/** The name in `#/$defs/<name>` (RFC 6901, section 6). */
function toName(reference: string): string {
  return decode(reference.slice("#/$defs/".length)).replaceAll("~1", "/").replaceAll("~0", "~");
}

function toReference(name: string): string {
  return `#/$defs/${encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function definitionsOf(root: JsonSchemaObject): Readonly<Record<string, JsonSchema>> {
  return (root["$defs"] ?? {}) as Readonly<Record<string, JsonSchema>>;
}

function isEndless(
  root: JsonSchemaObject,
  reference: string,
  done: Set<string>,
  open: Set<string>,
): boolean {
  const target = reference === "#" ? "" : toName(reference);
  if (open.has(target)) return true;
  if (done.has(target)) return false;
  open.add(target);
  const schema = followReference(root, reference);
  const found = referencesOf(schema).some((next) => isEndless(root, next, done, open));
  open.delete(target);
  done.add(target);
  return found;
}

/** Keywords whose schemas are about the same value. */
const LISTS = ["allOf", "anyOf", "oneOf"] as const;
const SINGLE = ["not", "if", "then", "else"] as const;

/** References that are about the same value as the schema itself. */
function referencesOf(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { $ref, dependentSchemas = {}, ...rest } = schema as JsonSchemaObject;
  const inner = [
    ...LISTS.flatMap((keyword) => (rest[keyword] ?? []) as JsonSchema[]),
    ...SINGLE.map((keyword) => rest[keyword]),
    ...Object.values(dependentSchemas as object),
  ];
  const own = typeof $ref === "string" ? [$ref] : [];
  return [...own, ...inner.flatMap(referencesOf)];
}

/** Values that look like schemas, but are none. */
const DATA: readonly string[] = [
  "const",
  "default",
  "dependentRequired",
  "enum",
  "examples",
  "required",
  "type",
];

/** Schemas under names of any kind. */
const MAPS: readonly string[] = ["$defs", "dependentSchemas", "patternProperties", "properties"];

/** The schemas in a schema, at their first level. */
function childrenOf(schema: JsonSchemaObject): readonly unknown[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (typeof value !== "object" || value === null || DATA.includes(keyword)) return [];
    return MAPS.includes(keyword) || Array.isArray(value) ? Object.values(value) : [value];
  });
}

/** A schema with other references; what only looks like a schema stays as it is. */
export function mapReferences(schema: JsonSchema, map: (reference: string) => string): JsonSchema {
  if (typeof schema !== "object") return schema;
  const mapAll = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map((item: unknown) => mapReferences(item as JsonSchema, map))
      : Object.fromEntries(
          Object.entries(value as object).map(([name, inner]) => {
            return [name, mapReferences(inner as JsonSchema, map)] as const;
          }),
        );
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (keyword === "$ref") return [keyword, map(value as string)] as const;
    if (typeof value !== "object" || value === null || DATA.includes(keyword))
      return [keyword, value] as const;
    const isMany = MAPS.includes(keyword) || Array.isArray(value);
    return [keyword, isMany ? mapAll(value) : mapReferences(value as JsonSchema, map)] as const;
  });
  return Object.fromEntries(entries);
}

/** @throws Error for a reference that leads to nothing */
function requireTargets(root: JsonSchemaObject, schema: unknown): void {
  if (typeof schema !== "object" || schema === null) return;
  const { $ref } = schema as { readonly $ref?: string };
  if ($ref !== undefined && followReference(root, $ref) === undefined)
    throw new Error(`its $ref "${$ref}" leads to nothing`);
  for (const child of childrenOf(schema as JsonSchemaObject)) requireTargets(root, child);
}
