import { FieldError, jsonOf, textOf } from "./form-values.ts";
import { parseDigits } from "../shared/json-exact.ts";

/** A member of the JSON body that a flow takes, as a form asks for it. */
export interface InputField {
  readonly name: string;
  /** `json`: whatever has no field of its own, typed as JSON. */
  readonly kind: "text" | "number" | "boolean" | "choice" | "json";
  readonly isRequired: boolean;
  readonly hint: string | undefined;
  /** Of a choice. */
  readonly choices: readonly string[];
}

type JsonObject = Readonly<Record<string, unknown>>;

/** The members of `json` in the input schema of a flow; none: a form cannot be made from it. */
export function inputFieldsOf(schema: unknown): readonly InputField[] {
  const { properties, required } = objectOf(objectOf(objectOf(schema)["properties"])["json"]);
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(objectOf(properties)).map(([name, member]) => ({
    name,
    ...kindOf(objectOf(member)),
    isRequired: needed.includes(name),
    hint: hintOf(objectOf(member)),
  }));
}

/** Of the form: what tells its fields from those of the call. */
export function nameOfField({ name }: InputField): string {
  return `json.${name}`;
}

/**
 * The body as JSON, without what was left empty.
 *
 * @throws FieldError
 */
export function toJsonBody(values: FormData, fields: readonly InputField[]): string {
  const filled = fields.filter((field) => textOf(values, nameOfField(field)) !== "");
  return JSON.stringify(
    Object.fromEntries(filled.map((field) => [field.name, valueOf(values, field)])),
  );
}

function valueOf(values: FormData, field: InputField): unknown {
  const name = nameOfField(field);
  if (field.kind === "text" || field.kind === "choice") return textOf(values, name);
  if (field.kind !== "number") return jsonOf(values, name, parseDigits);
  const text = textOf(values, name).trim();
  if (!/^-?(0|[1-9]\d*)(\.\d+)?(e[-+]?\d+)?$/i.test(text))
    throw new FieldError(name, "Expected a number");
  return parseDigits(text);
}

function kindOf(member: JsonObject): Pick<InputField, "kind" | "choices"> {
  const { type, enum: values } = member;
  if (Array.isArray(values))
    return values.every((value) => typeof value === "string")
      ? { kind: "choice", choices: values }
      : { kind: "json", choices: [] };
  if (type === "string") return { kind: "text", choices: [] };
  if (type === "number" || type === "integer") return { kind: "number", choices: [] };
  return { kind: type === "boolean" ? "boolean" : "json", choices: [] };
}

function hintOf({ description }: JsonObject): string | undefined {
  return typeof description === "string" && description !== "" ? description : undefined;
}

function objectOf(value: unknown): JsonObject {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as JsonObject) : {};
}
