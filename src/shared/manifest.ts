import * as v from "valibot";
import { nearestWord } from "./nearest.ts";

const FLOW = Symbol.for("flowhook.flow");

/** What a file exports as its default is nothing that was meant as a flow. */
export class NoFlowError extends Error {}

/** Longest `timeout_sec` that a flow can declare. */
export const TIMEOUT_SEC_MAX = 3600;
/** Bounds of the `memory_mb` that a flow can declare. */
export const MEMORY_MB_MIN = 16;
export const MEMORY_MB_MAX = 4096;

const ISOLATIONS = ["flow", "execution"] as const;

const timeout = `a number above 0 and up to ${TIMEOUT_SEC_MAX}`;
const memory = `a whole number from ${MEMORY_MB_MIN} to ${MEMORY_MB_MAX}`;
const list = "a list of texts";

const Names = v.optional(
  v.pipe(
    v.array(v.pipe(v.string(list), v.nonEmpty("texts that are not empty")), list),
    v.readonly(),
  ),
  [],
);

const Permissions = v.strictObject(
  { net: v.optional(v.boolean("true or false"), false), read: Names, write: Names, secrets: Names },
  "an object",
);

const DECLARED = {
  description: v.optional(
    v.nullable(v.pipe(v.string("a text"), v.maxLength(1000, "at most 1000 characters"))),
    null,
  ),
  permissions: v.optional(Permissions, {}),
  timeout_sec: v.optional(
    v.nullable(
      v.pipe(v.number(timeout), v.gtValue(0, timeout), v.maxValue(TIMEOUT_SEC_MAX, timeout)),
    ),
    null,
  ),
  memory_mb: v.optional(
    v.nullable(
      v.pipe(
        v.number(memory),
        v.integer(memory),
        v.minValue(MEMORY_MB_MIN, memory),
        v.maxValue(MEMORY_MB_MAX, memory),
      ),
    ),
    null,
  ),
  isolation: v.optional(v.picklist(ISOLATIONS, "'flow' or 'execution'"), "flow"),
};

const SCHEMA = v.optional(
  v.custom(isStandardSchema, "a Standard Schema, such as v.object({ ... })"),
);

const Definition = v.strictObject({
  ...DECLARED,
  input: SCHEMA,
  output: SCHEMA,
  run: v.function("a function"),
});

/** A handler's object is often a whole application, so only the members that are known are read. */
const Handler = v.object(DECLARED);

/** A schema as JSON Schema 2020-12: its text, or why there is none. */
const SchemaJson = v.union([
  v.strictObject({ json: v.string(), reason: v.null() }),
  v.strictObject({ json: v.null(), reason: v.string() }),
]);

/** JSON Schemas of a flow's input and output; null: the flow has no such schema. */
const Schemas = v.strictObject({ input: v.nullable(SchemaJson), output: v.nullable(SchemaJson) });

/**
 * What a flow declares, as it came back over the wall or from a file: see shared/author.ts for the
 * meaning of each member. Its permissions are those before the operator's ALLOW_* have been asked,
 * with paths as they are written.
 */
export const ManifestText = v.strictObject({
  form: v.picklist(["defined", "function", "fetch"]),
  ...DECLARED,
  has_input_schema: v.boolean(),
  // null: kept by a release that did not ask for them.
  schemas: v.optional(v.nullable(Schemas), null),
});

export type SchemaText = Readonly<v.InferOutput<typeof SchemaJson>>;
export type FlowSchemas = Readonly<v.InferOutput<typeof Schemas>>;
export type Manifest = Readonly<v.InferOutput<typeof ManifestText>>;

/** What a flow says of itself; its schemas are described apart. */
export type Declaration = Omit<Manifest, "schemas">;

/**
 * Reads what a flow's default export declares (contract, section 5: the three forms).
 * Pure: it runs in the thread that imported the flow.
 * @throws {Error} where the export is no flow or a member is wrong; the message says which.
 */
export function toManifest(defaultExport: unknown): Declaration {
  if (typeof defaultExport === "function") return fromFunction(defaultExport);
  if (!isObject(defaultExport)) throw new NoFlowError(`${noFlow(defaultExport)}; ${FORMS}`);
  if (Reflect.get(defaultExport, FLOW) === true) return fromDefinition(defaultExport);
  if (typeof Reflect.get(defaultExport, "fetch") === "function") return fromHandler(defaultExport);
  if ("run" in defaultExport) {
    throw new Error(
      `The default export has 'run' but is not defined: wrap it in defineFlow({ ... })`,
    );
  }
  const name = Array.isArray(defaultExport) ? undefined : otherFunction(defaultExport);
  const found = name === undefined ? "" : ` and with '${name}'`;
  throw new NoFlowError(`The default export is an object without 'fetch'${found}; ${FORMS}`);
}

const FORMS = "export defineFlow({ ... }), a function, or an object with 'fetch'";

function fromFunction(run: object): Declaration {
  if (/^class\b/.test(Function.prototype.toString.call(run))) {
    throw new NoFlowError(`The default export is a class, which cannot be called; ${FORMS}`);
  }
  if (isGenerator(run)) throw new NoFlowError(`The default export ${generator("function")}`);
  return { form: "function", ...v.parse(Handler, {}), has_input_schema: false };
}

/** A call of one runs nothing of it: it gives an object that is asked for values. */
function isGenerator(run: unknown): boolean {
  return (
    typeof run === "function" && /Generator/.test(String(Reflect.get(run, Symbol.toStringTag)))
  );
}

function generator(what: string): string {
  return `is a generator, of which nothing would run: write "async ${what}" without "*"`;
}

/** @throws {Error} also where it has an `input` or secrets, whose lack would go unseen. */
function fromHandler(handler: object): Declaration {
  const rest = declared(Handler, handler);
  if (isStandardSchema(Reflect.get(handler, "input"))) throw new Error(UNCHECKED);
  if (rest.permissions.secrets.length > 0) throw new Error(NO_SECRETS);
  return { form: "fetch", ...rest, has_input_schema: false };
}

const UNCHECKED =
  "No 'input' is checked beside 'fetch': check the request in it, or export defineFlow({ input, run })";
const NO_SECRETS =
  "A 'fetch' handler cannot read secrets: leave 'permissions.secrets' out, or export " +
  "defineFlow({ permissions, run }), whose flow.secret(name) reads them";

function fromDefinition(definition: object): Declaration {
  const { input, output: _output, run, ...rest } = declared(Definition, definition);
  if (isGenerator(run)) throw new Error(`Member 'run' of the flow ${generator("run")}`);
  return { form: "defined", ...rest, has_input_schema: input !== undefined };
}

function declared<Schema extends v.GenericSchema>(
  schema: Schema,
  value: object,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  throw new Error(wrongMember(result.issues[0], value));
}

function wrongMember(issue: v.BaseIssue<unknown>, definition: object): string {
  const member = v.getDotPath(issue) ?? "";
  if (issue.type === "strict_object" && issue.expected === "never")
    return unknown(member, definition);
  if (member === "run" && typeof Reflect.get(definition, "fetch") === "function")
    return "defineFlow takes 'run': export an object with 'fetch' as it is, without defineFlow";
  if (issue.input === undefined)
    return `The flow has no '${member}', which every flow needs${misspelt(member, definition)}`;
  return `Member '${member}' of the flow is ${shown(issue.input)}; give ${issue.message}`;
}

/** What was meant to be a member that is missing. */
function misspelt(member: string, definition: object): string {
  const names = Object.keys(definition).filter((name) => !(name in Definition.entries));
  const similar = names.find((name) => nearestWord(name, [member]) !== null);
  const found = similar ?? (member === "run" ? otherFunction(definition) : undefined);
  return found === undefined ? "" : `: unknown member '${found}', did you mean '${member}'?`;
}

/** A member that is a function, and none that a flow has. */
function otherFunction(value: object): string | undefined {
  return Object.keys(value).find(
    (name) => !(name in Definition.entries) && typeof Reflect.get(value, name) === "function",
  );
}

function unknown(member: string, definition: object): string {
  const inPermissions = member.startsWith("permissions.");
  const name = inPermissions ? member.slice("permissions.".length) : member;
  const known = Object.keys(inPermissions ? Permissions.entries : Definition.entries);
  const meant = nearestWord(
    name,
    known.filter((entry) => !(entry in definition)),
  );
  const what = inPermissions ? "permission" : "member";
  const hint = meant === null ? `known are ${known.join(", ")}` : `did you mean '${meant}'?`;
  return `Unknown ${what} '${name}' of the flow: ${hint}`;
}

function noFlow(value: unknown): string {
  return `The default export is ${shown(value)}, which is no flow`;
}

/** A value in a message: short, and without running code of the flow's. */
function shown(value: unknown): string {
  if (value === undefined) return "missing";
  if (typeof value === "string") return `'${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`;
  if (value === null || typeof value === "number" || typeof value === "boolean")
    return String(value);
  return Array.isArray(value) ? "a list" : `of type ${typeof value}`;
}

function isStandardSchema(value: unknown): boolean {
  const standard =
    isObject(value) || typeof value === "function" ? Reflect.get(value, "~standard") : null;
  return isObject(standard) && typeof Reflect.get(standard, "validate") === "function";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
