/**
 * A JSON Schema as inputs are checked with it: it refuses nothing that the library that wrote it
 * may mean to admit. What it lets pass, the flow's own schema refuses in its run.
 */

type Json = Readonly<Record<string, unknown>>;

/** @param schema as `readJsonSchema` has left it */
export function toLenient(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const lenient: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) lenient[keyword] = toInner(keyword, value);
  loosenTexts(lenient);
  loosenNumbers(lenient);
  loosenAlternatives(lenient);
  keepOpposites(lenient, schema);
  return lenient;
}

const LISTS: readonly string[] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const MAPS: readonly string[] = ["$defs", "dependentSchemas", "patternProperties", "properties"];
const SINGLE: readonly string[] = [
  "additionalProperties",
  "contains",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
];

function toInner(keyword: string, value: unknown): unknown {
  if (SINGLE.includes(keyword)) return toLenient(value);
  if (LISTS.includes(keyword)) return (value as unknown[]).map(toLenient);
  if (!MAPS.includes(keyword)) return value;
  const entries = Object.entries(value as Json).map(([name, of]) => [name, toLenient(of)] as const);
  return Object.fromEntries(entries);
}

/** Formats differ between libraries; lengths are of UTF-16 units there, of characters here. */
function loosenTexts(schema: Record<string, unknown>): void {
  delete schema["format"];
  if (typeof schema["minLength"] === "number")
    schema["minLength"] = Math.ceil(schema["minLength"] / 2);
  if (!isUnicodePattern(schema["pattern"])) delete schema["pattern"];
  const names = Object.keys(schema["patternProperties"] ?? {});
  if (names.every(isUnicodePattern)) return;
  for (const keyword of ["patternProperties", "additionalProperties", "unevaluatedProperties"])
    delete schema[keyword];
}

function isUnicodePattern(pattern: unknown): boolean {
  try {
    return typeof pattern === "string" && new RegExp(pattern, "u").unicode;
  } catch {
    return false;
  }
}

/** Libraries round differently. */
function loosenNumbers(schema: Record<string, unknown>): void {
  if (!Number.isInteger(schema["multipleOf"])) delete schema["multipleOf"];
}

/** Of alternatives that overlap libraries take the first. */
function loosenAlternatives(schema: Record<string, unknown>): void {
  const { oneOf, anyOf } = schema;
  delete schema["oneOf"];
  if (oneOf !== undefined && anyOf === undefined) schema["anyOf"] = oneOf;
}

/** A schema that admits more there would let the whole admit less. */
function keepOpposites(schema: Record<string, unknown>, strict: Json): void {
  const isSame = (keyword: string): boolean =>
    JSON.stringify(schema[keyword]) === JSON.stringify(strict[keyword]);
  if (!isSame("not") || hasReference(strict["not"])) delete schema["not"];
  if (!isSame("if") || hasReference(strict["if"]))
    for (const keyword of ["if", "then", "else"]) delete schema[keyword];
  if (!isSame("contains") || hasReference(strict["contains"])) delete schema["maxContains"];
}

/** Whether it leads to a schema that is loosened elsewhere. */
function hasReference(schema: unknown): boolean {
  return schema !== undefined && JSON.stringify(schema).includes('"$ref"');
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
