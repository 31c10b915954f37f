import * as v from "valibot";
import type { Read } from "./read.ts";
import { COUNT, MAYBE_TEXT, TIME } from "./scalar.ts";

const CHANGE = v.strictObject({
  member: v.pipe(v.string(), v.description("Of an import: the webhook's name, a dot, the member")),
  from: v.pipe(v.unknown(), v.description("null: there was none")),
  to: v.pipe(v.unknown(), v.description("null: there is none")),
});

export type AuditChange = Read<typeof CHANGE>;

export const AUDIT_ENTRY = v.strictObject({
  id: COUNT,
  at: TIME,
  user_name: MAYBE_TEXT,
  address: v.string(),
  node: v.pipe(
    MAYBE_TEXT,
    v.description("NODE_NAME of the service that took it; null with SQLite"),
  ),
  action: v.string(),
  target: MAYBE_TEXT,
  result: v.pipe(v.string(), v.description("The HTTP status, or the code of the error")),
  members: v.pipe(v.array(v.string()), v.description("Names of the members that were given")),
  changes: v.pipe(
    v.array(CHANGE),
    v.description(
      "Members that changed and whose values may be shown, at most 100. What is longer than " +
        "2000 characters as JSON is cut, and a string that ends in …",
    ),
  ),
});

export type AuditEntry = Read<typeof AUDIT_ENTRY>;
