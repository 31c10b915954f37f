import { sentenceOf } from "./api.ts";

/** What is wrong with one field, found before anything was sent. */
export class FieldError extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** The text of a field; empty where the form has it not, or where it is disabled. */
export function textOf(values: FormData, name: string): string {
  const value = values.get(name);
  return typeof value === "string" ? value : "";
}

/** The texts of all fields and set boxes of one name. */
export function textsOf(values: FormData, name: string): readonly string[] {
  return values.getAll(name).filter((value) => typeof value === "string");
}

/** @throws FieldError */
export function jsonOf(
  values: FormData,
  name: string,
  parse: (text: string) => unknown = JSON.parse,
): unknown {
  try {
    return parse(textOf(values, name));
  } catch (error) {
    throw new FieldError(name, `This is not JSON: ${sentenceOf(error)}`);
  }
}

/**
 * null: nothing is typed.
 *
 * @throws FieldError
 */
export function numberOf(values: FormData, name: string): number | null {
  const text = textOf(values, name).trim();
  if (text === "") return null;
  if (!Number.isFinite(Number(text))) throw new FieldError(name, "Expected a number");
  return Number(text);
}

/** Texts with commas or line ends between them. */
export function listOf(values: FormData, name: string): readonly string[] {
  return textOf(values, name)
    .split(/[,\n]/)
    .map((text) => text.trim())
    .filter((text) => text !== "");
}

/** The members of a form that differ from what it was filled with; all where that was nothing. */
export function changesOf(
  held: object | null,
  members: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  if (held === null) return { ...members };
  const changes = Object.entries(members).filter(
    ([name, value]) => !isSame(value, Reflect.get(held, name)),
  );
  return Object.fromEntries(changes);
}

export function isSame(one: unknown, other: unknown): boolean {
  return toOrdered(one) === toOrdered(other);
}

/** The service has the members of a value in another order than the form has its fields. */
function toOrdered(value: unknown): string | undefined {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member !== "object" || member === null || Array.isArray(member)
      ? member
      : Object.fromEntries(
          Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)),
        ),
  );
}
