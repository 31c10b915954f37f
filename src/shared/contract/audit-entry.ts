import * as v from "valibot";
import type { Read } from "./read.ts";
import { COUNT, MAYBE_TEXT, TIME } from "./scalar.ts";

export const AUDIT_ENTRY = v.strictObject({
  id: COUNT,
  at: TIME,
  user_name: MAYBE_TEXT,
  address: v.string(),
  action: v.string(),
  target: MAYBE_TEXT,
  result: v.pipe(v.string(), v.description("The HTTP status, or the code of the error")),
  members: v.pipe(v.array(v.string()), v.description("Names of the members that were given")),
});

export type AuditEntry = Read<typeof AUDIT_ENTRY>;
