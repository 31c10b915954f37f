import * as v from "valibot";

/** What gives somebody access is changed only with the own password again. */

const PASSWORD = v.pipe(
  v.string("expected a string"),
  v.description("Your own password again: 403 wrong_password without it"),
);

/** Optional for the schema: a missing one is refused as a wrong one is. */
export const OWN_PASSWORD = v.optional(PASSWORD);

/** The body of a deletion. */
export const ONLY_PASSWORD = v.strictObject({ password: OWN_PASSWORD });
