import * as v from "valibot";
import type { Read } from "./read.ts";
import { NAME } from "./name.ts";
import { OWN_PASSWORD } from "./own-password.ts";
import { PERMISSIONS } from "./permission.ts";
import { FLAG, MAYBE_TEXT, TEXT, TIME } from "./scalar.ts";

/** A line of a role, as it is answered. */
export const GRANTED = v.strictObject({
  permission: v.pipe(v.string(), v.description('A permission, "<resource>.*", or "*"')),
  project_id: v.pipe(MAYBE_TEXT, v.description("The only project it holds for; null: all")),
});

export const ROLE = v.strictObject({
  id: v.string(),
  name: v.string(),
  permissions: v.array(GRANTED),
  propagate: v.boolean(),
  created_at: TIME,
  modified_at: TIME,
});

export type Role = Read<typeof ROLE>;

/** `webhook.read`, `webhook.*` or `*`. */
const PATTERN = v.pipe(
  TEXT,
  v.check(isPattern, `expected "*", "<resource>.*" or one of ${PERMISSIONS.join(", ")}`),
);

/** For all projects or for one; in short, the string (contract, section 7, number 4). */
const GRANT = v.pipe(
  v.union(
    [
      v.strictObject({
        permission: PATTERN,
        project_id: v.optional(v.nullable(v.string()), null),
      }),
      PATTERN,
    ],
    'expected {"permission": "webhook.read"} or "webhook.read"',
  ),
  v.transform((grant) =>
    typeof grant === "string" ? { permission: grant, project_id: null } : grant,
  ),
);

function isPattern(text: string): boolean {
  if (text === "*" || (PERMISSIONS as readonly string[]).includes(text)) return true;
  return text.endsWith(".*") && PERMISSIONS.some((known) => known.startsWith(text.slice(0, -1)));
}

export const NEW_ROLE = v.strictObject({
  name: NAME,
  permissions: v.array(GRANT),
  propagate: v.optional(FLAG, false),
  password: OWN_PASSWORD,
});

export const ROLE_CHANGE = v.strictObject({
  name: v.optional(NAME),
  permissions: v.optional(v.array(GRANT)),
  propagate: v.optional(FLAG),
  password: OWN_PASSWORD,
});
