import * as v from "valibot";
import { isId } from "../../shared/id.ts";
import { toResourceName } from "../../shared/resource-name.ts";

/**
 * Parameters of queries: texts that stand for numbers, flags, times and lists. The metadata is what
 * the OpenAPI document says of each.
 */

export function text(description: string) {
  return v.optional(v.pipe(v.string(), v.description(description)));
}

/** The name of a resource, as it is kept. */
export function resourceName(description: string) {
  return v.optional(v.pipe(v.string(), v.description(description), v.transform(toResourceName)));
}

/** What is looked for: no text that is found is nearly as long. */
export function searched(description: string) {
  return v.optional(
    v.pipe(
      v.string(),
      v.description(description),
      v.maxLength(1000, "expected at most 1000 characters"),
    ),
  );
}

export function wholeNumber(least: number, most: number, description: string) {
  const expected = `expected a whole number from ${least} to ${most}`;
  return v.pipe(
    v.string(),
    v.description(description),
    v.metadata({ type: "integer", minimum: least, maximum: most }),
    v.check((given) => /^\d{1,7}$/.test(given), expected),
    v.transform(Number),
    v.minValue(least, expected),
    v.maxValue(most, expected),
  );
}

export function flag(description: string) {
  return v.pipe(
    v.string(),
    v.description(description),
    v.metadata({ type: "boolean" }),
    v.check((given) => given === "true" || given === "false", 'expected "true" or "false"'),
    v.transform((given) => given === "true"),
  );
}

/**
 * Others would be read too: `5` as a day of 2001, and a time without a zone as one of the machine
 * that the service runs on. A day begins in UTC.
 */
const ISO_TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/i;

/** The 30th of February would be read as the 2nd of March. */
function isDay(day: string): boolean {
  return isTime(day) && new Date(day).toISOString().startsWith(day);
}

function isTime(text: string): boolean {
  return !Number.isNaN(Date.parse(text));
}

/** In ISO 8601; milliseconds since the epoch. */
export function time(description: string) {
  return v.optional(
    v.pipe(
      v.string(),
      v.description(description),
      v.metadata({ format: "date-time" }),
      v.check(
        (given) => ISO_TIME.test(given) && isDay(given.slice(0, 10)) && isTime(given),
        "expected a time in ISO 8601 with its zone, as 2026-01-31T09:30:00Z",
      ),
      v.transform((given) => Date.parse(given)),
    ),
  );
}

/** One of the values, or several joined by commas. */
export function listOfValues<const Value extends string>(
  values: readonly Value[],
  description: string,
) {
  return v.optional(
    v.pipe(
      v.string(),
      v.description(description),
      v.metadata({ type: "array", items: { type: "string", enum: values } }),
      v.transform((given) => given.split(",")),
      v.array(v.picklist(values, `expected one or more of ${values.join(", ")}`)),
    ),
  );
}

export function executionId(description: string) {
  return v.optional(
    v.pipe(
      v.string(),
      v.description(description),
      v.metadata({ format: "uuid" }),
      v.check(isId, "expected the id of an execution"),
    ),
  );
}
