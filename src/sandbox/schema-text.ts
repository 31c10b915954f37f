import { toJsonSchema, type ConversionConfig } from "@valibot/to-json-schema";
import { isChange } from "./request-members.ts";
import { hasFallback, keepFallbacks } from "./valibot-override.ts";
import { keepWhatIsSent } from "./zod-override.ts";
import type { FlowSchemas, SchemaText } from "../shared/manifest.ts";
import { MAX_SCHEMA_BYTES } from "../shared/wire/protocol.ts";

/**
 * JSON Schemas of what a flow takes and gives, made in the thread that inspects it. Code of the flow
 * runs for them, so that the server reads the texts as it reads those of anybody.
 */

/** @param definition of the form `defineFlow`; null: another form, which has no schemas */
export function describeSchemas(definition: unknown): FlowSchemas {
  if (typeof definition !== "object" || definition === null) return { input: null, output: null };
  const { input, output } = definition as { readonly input?: unknown; readonly output?: unknown };
  return {
    input: input === undefined ? null : describe(input),
    output: output === undefined ? null : describe(output),
  };
}

/** The members of a Standard Schema that say what it is (standardschema.dev/json-schema). */
interface Standard {
  readonly vendor?: unknown;
  readonly jsonSchema?: { input?(options: object): unknown };
}

function describe(schema: unknown): SchemaText {
  try {
    const json = toText(convert(schema));
    const bytes = Buffer.byteLength(json);
    if (bytes <= MAX_SCHEMA_BYTES) return { json, reason: null };
    return { json: null, reason: `It has ${bytes} bytes, at most ${MAX_SCHEMA_BYTES} are kept` };
  } catch (error) {
    return { json: null, reason: reasonOf(error) };
  }
}

/** @throws {Error} where it is no JSON object */
function toText(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error("The library's JSON Schema is no object");
  const text: unknown = JSON.stringify(value);
  if (typeof text === "string") return text;
  throw new Error("The library's JSON Schema cannot be written as JSON");
}

type ValibotSchema = Parameters<typeof toJsonSchema>[0];

/** @throws {Error} where the library cannot say it */
function convert(schema: unknown): unknown {
  const { "~standard": standard } = schema as { readonly "~standard": Standard };
  const { vendor, jsonSchema } = standard;
  if (typeof jsonSchema?.input === "function")
    return jsonSchema.input({ target: "draft-2020-12", ...LIBRARY_OPTIONS[String(vendor)] });
  if (vendor === "valibot" && hasFallback(schema)) return {};
  if (vendor === "valibot") return toJsonSchema(schema as ValibotSchema, VALIBOT);
  throw new Error(`The library "${String(vendor)}" cannot write its schemas as JSON Schema`);
}

/** What has no JSON Schema becomes `{}`, instead of an error. */
const LIBRARY_OPTIONS: Readonly<Record<string, object>> = {
  zod: { libraryOptions: { unrepresentable: "any", override: keepWhatIsSent } },
};

/** The schema as it was before the input is transformed; under a symbol, which is not written. */
const BEFORE = Symbol("before");

const VALIBOT: ConversionConfig = {
  target: "draft-2020-12",
  typeMode: "input",
  errorMode: "ignore",
  overrideAction: keepSound,
  overrideSchema: keepFallbacks,
};

type Override = NonNullable<ConversionConfig["overrideAction"]>;
type Kept = ReturnType<Override> & { readonly [BEFORE]?: object };

/**
 * What comes after a transformation is said of another value than the one that is sent: nothing of
 * it is kept, and no pattern whose flags JSON Schema does not have.
 */
function keepSound({ valibotAction, jsonSchema }: Parameters<Override>[0]): ReturnType<Override> {
  const { requirement } = valibotAction as { readonly requirement?: { readonly flags?: unknown } };
  const isChanging = isChange(valibotAction);
  const before = (jsonSchema as Kept)[BEFORE] ?? (isChanging ? { ...jsonSchema } : undefined);
  if (before !== undefined) return { ...before, [BEFORE]: before } as Kept;
  const flags = requirement?.flags;
  if (typeof flags !== "string" || !/[imsvy]/.test(flags)) return null;
  const { pattern: _pattern, ...rest } = jsonSchema;
  return rest;
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : "its library threw no error";
  return `It cannot be written as JSON Schema: ${message.slice(0, 500)}`;
}
