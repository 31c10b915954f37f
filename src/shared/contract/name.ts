import * as v from "valibot";
import { findNameError, toResourceName } from "../resource-name.ts";

/** A resource's name (contract, section 2). */
export const NAME = v.pipe(
  v.string("expected a string"),
  v.transform(toResourceName),
  v.check(
    (name) => findNameError(name) === null,
    ({ input }) => `expected ${findNameError(input) ?? "a name"}`,
  ),
);

export const DESCRIPTION = v.pipe(
  v.string("expected a string"),
  v.maxLength(10_000, "expected at most 10000 characters"),
  v.check((text) => text.isWellFormed(), "expected well-formed Unicode"),
);
