/** A JSON value that a JSON Schema (2020-12) takes, as far as it can be told without trying. */

type JsonObject = Readonly<Record<string, unknown>>;

/** What a schema that refers to itself is bounded by: levels, and values of one example. */
const DEEPEST = 6;
const MOST_VALUES = 500;

interface Example {
  /** What `#` of references means. */
  readonly root: unknown;
  /** Values that may still be made. */
  left: number;
}

/**
 * @param root what `#` of its references means; the schema itself unless told
 * @returns undefined where the schema takes anything
 */
export function exampleOf(schema: unknown, root: unknown = schema): unknown {
  return valueFor(schema, { root, left: MOST_VALUES }, 0);
}

function valueFor(schema: unknown, example: Example, depth: number): unknown {
  const rules = resolve(objectOf(schema), example.root);
  const told = toldBy(rules);
  if (told !== undefined) return told;
  if (depth > DEEPEST || example.left === 0) return null;
  example.left -= 1;

  const choice = listOf(rules["anyOf"]) ?? listOf(rules["oneOf"]);
  if (choice !== null && rules["properties"] === undefined)
    return valueFor(
      choice.find((one) => typeOf(objectOf(one)) !== "null"),
      example,
      depth + 1,
    );
  const parts = listOf(rules["allOf"]);
  if (parts !== null) return joined([{ ...rules, allOf: undefined }, ...parts], example, depth);
  return valueOfType(rules, example, depth);
}

/** What the schema itself gives. */
function toldBy(rules: JsonObject): unknown {
  const [example] = listOf(rules["examples"]) ?? [];
  const [first] = listOf(rules["enum"]) ?? [];
  return rules["const"] ?? example ?? rules["default"] ?? first;
}

function valueOfType(rules: JsonObject, example: Example, depth: number): unknown {
  switch (typeOf(rules)) {
    case "object":
      return objectFor(rules, example, depth);
    case "array":
      return arrayFor(rules, example, depth);
    case "string":
      return textFor(rules);
    case "number":
    case "integer":
      return numberFor(rules);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return undefined;
  }
}

/** With what it must have; on top with all that it may have, where it must have nothing. */
function objectFor(rules: JsonObject, example: Example, depth: number): JsonObject {
  const properties = objectOf(rules["properties"]);
  const required = (listOf(rules["required"]) ?? []).map(String);
  const isOpen = required.length === 0 && depth === 0;
  const names = isOpen ? Object.keys(properties) : required;
  const members = names.map((name) => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : {};
    return [name, valueFor(schema, example, depth + 1) ?? null] as const;
  });
  return Object.fromEntries(members);
}

const MOST_ITEMS = 20;

function arrayFor(rules: JsonObject, example: Example, depth: number): readonly unknown[] {
  const first = listOf(rules["prefixItems"]) ?? [];
  const least = Math.max(first.length, numberOf(rules["minItems"]) ?? 1);
  const count = Math.min(least, numberOf(rules["maxItems"]) ?? MOST_ITEMS, MOST_ITEMS);
  const schemas = Array.from({ length: count }, (_, at) => first[at] ?? rules["items"] ?? {});
  return schemas.map((schema) => valueFor(schema, example, depth + 1) ?? null);
}

const FORMATS: Readonly<Record<string, string>> = {
  date: "2026-01-31",
  "date-time": "2026-01-31T16:30:00Z",
  email: "ada@example.org",
  hostname: "example.org",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  time: "16:30:00Z",
  uri: "https://example.org/",
  url: "https://example.org/",
  uuid: "0190f3c2-7a4b-7c5d-8e6f-0123456789ab",
};

const LONGEST = 200;

/** A pattern is not read: what it means, the author says by an example. */
function textFor({ format, minLength, maxLength }: JsonObject): string {
  if (typeof format === "string" && Object.hasOwn(FORMATS, format)) return FORMATS[format] ?? "";
  const text = "text".padEnd(Math.min(numberOf(minLength) ?? 0, LONGEST), "x");
  return text.slice(0, numberOf(maxLength) ?? text.length);
}

function numberFor(rules: JsonObject): number {
  const step = numberOf(rules["multipleOf"]) ?? 1;
  const above = numberOf(rules["exclusiveMinimum"]);
  const below = numberOf(rules["exclusiveMaximum"]);
  const least = numberOf(rules["minimum"]) ?? (above === null ? null : above + step);
  const most = numberOf(rules["maximum"]) ?? (below === null ? null : below - step);
  const wanted = Math.min(Math.max(step, least ?? step), most ?? Infinity);
  const whole = Math.ceil(wanted / step) * step;
  // A range within one step has no number of whole steps.
  return most !== null && whole > most ? wanted : whole;
}

/** Of objects, the members of all; of others, the first that says something. */
function joined(schemas: readonly unknown[], example: Example, depth: number): unknown {
  const examples = schemas.map((schema) => valueFor(schema, example, depth));
  const known = examples.filter((one) => one !== undefined);
  if (!known.every(isObject)) return known[0];
  return known.length === 0 ? undefined : Object.assign({}, ...known);
}

/** Follows references within the document. */
function resolve(rules: JsonObject, root: unknown): JsonObject {
  let found = rules;
  for (let step = 0; step < DEEPEST; step += 1) {
    const reference = found["$ref"];
    if (typeof reference !== "string" || !reference.startsWith("#")) return found;
    found = objectOf(at(root, reference.slice(1)));
  }
  return {};
}

/** A JSON pointer (RFC 6901), without percent-encoding. */
function at(root: unknown, pointer: string): unknown {
  let found = root;
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const members = objectOf(found);
    found = Object.hasOwn(members, name) ? members[name] : undefined;
  }
  return found;
}

/** Not null, where it may be something else. */
function typeOf({ type, properties, items }: JsonObject): unknown {
  const types = listOf(type);
  if (types !== null) return types.find((one) => one !== "null") ?? "null";
  if (type !== undefined) return type;
  if (properties !== undefined) return "object";
  return items === undefined ? undefined : "array";
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] | null {
  return Array.isArray(value) ? (value as readonly unknown[]) : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
