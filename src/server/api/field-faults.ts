import * as v from "valibot";
import { Refusal, type FieldFault } from "../../shared/errors.ts";

/** More are of no use to anybody, and would make a long answer of a short request. */
const MOST_FIELDS = 100;

/**
 * A value that came from outside, checked.
 *
 * @throws Refusal invalid, with each field that is wrong: what was expected of it
 */
export function check<const Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const fields = result.issues.slice(0, MOST_FIELDS).map(toFault);
  const list = fields.map(({ field, message }) => (field ? `${field}: ${message}` : message));
  throw new Refusal("invalid", list.join("; "), { fields });
}

function toFault(issue: v.BaseIssue<unknown>): FieldFault {
  return { field: v.getDotPath(issue) ?? "", message: toMessage(issue) };
}

/** The schemas' own words say what was expected; valibot's, where there are none, are made so. */
function toMessage({ message, type, expected, received }: v.BaseIssue<unknown>): string {
  const is_key = message.startsWith("Invalid key: ");
  if (is_key && expected === "never") return "not known here";
  if (is_key && received === "undefined") return "expected, but it is missing";
  if (type.endsWith("object") && message.startsWith("Invalid type: ")) return "expected an object";
  return message.replace(/^Invalid \w+: Expected /, "expected ");
}
