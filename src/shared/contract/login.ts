import * as v from "valibot";
import type { Read } from "./read.ts";
import { NEW_PASSWORD } from "./own-password.ts";
import { GRANTED } from "./role.ts";
import { TIME } from "./scalar.ts";
import { PERSON } from "./user.ts";

const LOGGED_IN = v.strictObject(PERSON);

export type LoggedIn = Read<typeof LOGGED_IN>;

export const LOGIN = v.strictObject({ token: v.string(), expires_at: TIME, user: LOGGED_IN });

export type Login = Read<typeof LOGIN>;

export const ME = v.strictObject({ ...PERSON, permissions: v.array(GRANTED) });

export const CREDENTIALS = v.strictObject({ user_name: v.string(), password: v.string() });

export const PASSWORD_CHANGE = v.strictObject({
  password: v.optional(v.string()),
  new_password: NEW_PASSWORD,
});
