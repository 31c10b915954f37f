import * as v from "valibot";
import type { Read } from "./read.ts";
import { COUNT } from "./scalar.ts";

/** Problem details (RFC 9457). */
export const PROBLEM = v.strictObject({
  type: v.pipe(v.string(), v.description("urn:flowhook:error: and the code")),
  title: v.string(),
  status: COUNT,
  detail: v.string(),
  instance: v.string(),
  errors: v.optional(v.array(v.strictObject({ field: v.string(), message: v.string() }))),
});

export type Problem = Read<typeof PROBLEM>;

/** One member of the input that was refused. */
export type FieldError = NonNullable<Problem["errors"]>[number];
