import * as v from "valibot";

/** A resource's name (contract, section 2): trimmed, NFC, 1 to 128 characters. */
export const NAME = v.pipe(
  v.string("expected a string"),
  v.transform((text) => text.trim().normalize("NFC")),
  v.minLength(1, "expected at least 1 character"),
  v.check((text) => [...text].length <= 128, "expected at most 128 characters"),
  v.check((text) => text.isWellFormed(), "expected well-formed Unicode"),
  v.check((text) => !/\p{Cc}/u.test(text), "expected no control characters"),
  v.check((text) => !/[/\\?#%]/.test(text), "expected none of / \\ ? # %"),
  v.check((text) => text !== "." && text !== "..", 'expected another name than "." and ".."'),
);

export const DESCRIPTION = v.pipe(
  v.string("expected a string"),
  v.maxLength(10_000, "expected at most 10000 characters"),
);
