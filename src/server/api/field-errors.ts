import * as v from "valibot";
import type { FieldError } from "../../shared/contract/problem.ts";
import { RequestError } from "../../shared/errors.ts";

/** More are of no use to anybody, and would make a long answer of a short request. */
const MOST_FIELDS = 100;

/**
 * A value that came from outside, checked.
 *
 * @throws RequestError invalid, with each field that is wrong: what was expected of it
 */
export function check<const Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const fields = result.issues.slice(0, MOST_FIELDS).map(toError);
  const list = fields.map(({ field, message }) => (field ? `${field}: ${message}` : message));
  throw new RequestError("invalid", list.join("; "), { fields });
}

function toError(issue: v.BaseIssue<unknown>): FieldError {
  return { field: v.getDotPath(issue) ?? "", message: toMessage(issue) };
}

/** The schemas' own words say what was expected; valibot's, where there are none, are made so. */
function toMessage({ message, type, expected, received }: v.BaseIssue<unknown>): string {
  const isKey = message.startsWith("Invalid key: ");
  if (isKey && expected === "never") return "not known here";
  if (isKey && received === "undefined") return "expected, but it is missing";
  if (type.endsWith("object") && message.startsWith("Invalid type: ")) return "expected an object";
  return message.replace(/^Invalid \w+: Expected /, "expected ");
}
