import * as v from "valibot";
import { PASSWORD_LENGTH } from "../password-length.ts";
import { TEXT } from "./scalar.ts";

/** What gives somebody access is changed only with the own password again. */

const PASSWORD = v.pipe(
  TEXT,
  v.description("Your own password again: 403 wrong_password without it"),
);

/** Optional for the schema: a missing one is refused as a wrong one is. */
export const OWN_PASSWORD = v.optional(PASSWORD);

/** The body of a deletion. */
export const ONLY_PASSWORD = v.strictObject({ password: OWN_PASSWORD });

export const NEW_PASSWORD = v.pipe(
  TEXT,
  v.minLength(PASSWORD_LENGTH, `expected at least ${PASSWORD_LENGTH} characters`),
  v.maxLength(1024, "expected at most 1024 characters"),
  v.description("The password that the user gets"),
);
