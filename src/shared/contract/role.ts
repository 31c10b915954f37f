import * as v from "valibot";
import type { Read } from "./read.ts";
import { describeUnknown } from "../nearest.ts";
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

const RESOURCES = [...new Set(PERMISSIONS.map((name) => `${name.split(".")[0]}.*`))];

const KNOWN = ["*", ...RESOURCES, ...PERMISSIONS];

/** `webhook.read`, `webhook.*` or `*`. */
const PATTERN = v.pipe(
  TEXT,
  v.check(isPattern, ({ input }) => describeUnknown(input, KNOWN)),
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
  return KNOWN.includes(text);
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
