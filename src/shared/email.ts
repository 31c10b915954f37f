import * as v from "valibot";

const RULE = "expected an e-mail address, or an empty string";

/** Of a user. */
export const EMAIL = v.union(
  [
    v.literal(""),
    v.pipe(v.string(), v.email(RULE), v.maxLength(254, "expected at most 254 characters")),
  ],
  RULE,
);

/** Why a text cannot be the e-mail address of a user; null where it can. */
export function findEmailError(text: string): string | null {
  return v.safeParse(EMAIL, text).issues?.[0].message ?? null;
}
