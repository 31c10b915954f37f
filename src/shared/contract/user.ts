import * as v from "valibot";
import { EMAIL } from "../email.ts";
import type { Read } from "./read.ts";
import { NAME } from "./name.ts";
import { NEW_PASSWORD, OWN_PASSWORD } from "./own-password.ts";
import { FLAG, MAYBE_TIME, TIME } from "./scalar.ts";
import { toResourceName } from "../resource-name.ts";

/** What is shown of a user to whoever may see one. */
export const PERSON = {
  id: v.string(),
  name: v.string(),
  email: v.string(),
  roles: v.array(v.string()),
};

export const USER = v.strictObject({
  ...PERSON,
  is_enabled: v.boolean(),
  active_at: MAYBE_TIME,
  created_at: TIME,
  modified_at: TIME,
});

export type User = Read<typeof USER>;

/** As they are listed: in the order of their names. */
const ROLES = v.pipe(
  v.array(v.pipe(v.string("expected the name of a role"), v.transform(toResourceName))),
  v.check((roles) => new Set(roles).size === roles.length, "has a role twice"),
  v.transform((roles) => roles.toSorted()),
);

export const NEW_USER = v.strictObject({
  name: NAME,
  email: v.optional(EMAIL, ""),
  password: NEW_PASSWORD,
  roles: v.optional(ROLES, []),
  is_enabled: v.optional(FLAG, true),
  own_password: OWN_PASSWORD,
});

export const USER_CHANGE = v.strictObject({
  name: v.optional(NAME),
  email: v.optional(EMAIL),
  password: v.optional(NEW_PASSWORD),
  roles: v.optional(ROLES),
  is_enabled: v.optional(FLAG),
  own_password: OWN_PASSWORD,
});

export type UserChange = v.InferOutput<typeof USER_CHANGE>;
