/**
 * Zod says of a value what holds once it has changed it. A request is checked with what Zod says
 * before it is changed, so that nothing is kept here which an input may lack that its schema takes.
 */

type Json = Record<string, unknown>;

/** As far as it is read of Zod's own description of a schema. */
interface Definition {
  readonly type?: string;
  readonly coerce?: boolean;
  readonly pattern?: RegExp;
  readonly checks?: readonly { readonly _zod?: { readonly def?: Check } }[];
  readonly shape?: Readonly<Record<string, ZodSchema>>;
  readonly items?: readonly ZodSchema[];
  readonly valueType?: ZodSchema;
  readonly in?: ZodSchema;
}

interface Check {
  readonly check?: string;
  readonly pattern?: RegExp;
}

interface ZodSchema {
  readonly _zod?: {
    readonly def?: Definition;
    readonly optin?: unknown;
  };
}

/** For `override` of Zod's conversion, which calls it for every schema, inner ones first. */
export function keepWhatIsSent(told: { readonly zodSchema: unknown; jsonSchema: Json }): void {
  const { jsonSchema } = told;
  const definition = (told.zodSchema as ZodSchema)._zod?.def ?? {};
  if (takesAnything(definition)) keepOnly(jsonSchema, ANNOTATIONS);
  else if (isOverwritten(definition)) keepType(jsonSchema);
  if (hasFlags(definition)) dropPatterns(jsonSchema);
  keepRequired(jsonSchema, definition);
}

/** JSON Schema has no flags: `/^#[a-f]+$/i` would refuse what it takes. */
function hasFlags({ pattern, checks = [] }: Definition): boolean {
  const patterns = [pattern, ...checks.map((check) => check._zod?.def?.pattern)];
  return patterns.some((one) => /[imsvy]/.test(one?.flags ?? ""));
}

/** Several of one text stand in `allOf`, and nothing else does. */
function dropPatterns(jsonSchema: Json): void {
  delete jsonSchema["pattern"];
  delete jsonSchema["allOf"];
}

const ANNOTATIONS = ["title", "description", "default", "examples", "deprecated"];
const CONTENT = ["type", "properties", "required", "additionalProperties", "items", "prefixItems"];

function takesAnything(definition: Definition): boolean {
  const isBefore = definition.type === "pipe" && definition.in?._zod?.def?.type === "transform";
  return definition.coerce === true || definition.type === "catch" || isBefore;
}

/** What follows `trim()` and its like is said of another value, and Zod does not tell what does. */
function isOverwritten({ checks = [] }: Definition): boolean {
  return checks.some((check) => check._zod?.def?.check === "overwrite");
}

function keepType(jsonSchema: Json): void {
  keepOnly(jsonSchema, [...ANNOTATIONS, ...CONTENT]);
  if (jsonSchema["type"] === "integer") jsonSchema["type"] = "number";
}

/** A member that is not there may be made up. */
function keepRequired(jsonSchema: Json, { shape, items, valueType }: Definition): void {
  const { required } = jsonSchema;
  if (Array.isArray(required))
    jsonSchema["required"] = required.filter(
      (name: string) => !isMadeUp(shape?.[name] ?? valueType),
    );
  if (items?.some(isMadeUp) === true) delete jsonSchema["minItems"];
  // Of a record, a member whose value may be anything may be none.
  if (["any", "unknown"].includes(valueType?._zod?.def?.type ?? "")) delete jsonSchema["required"];
}

function isMadeUp(schema: ZodSchema | undefined): boolean {
  return schema?._zod?.optin !== undefined;
}

function keepOnly(jsonSchema: Json, keywords: readonly string[]): void {
  for (const keyword of Object.keys(jsonSchema))
    if (!keywords.includes(keyword)) delete jsonSchema[keyword];
}
