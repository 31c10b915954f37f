import * as v from "valibot";
import { findNameFault, toResourceName } from "../../shared/resource-name.ts";

/** A resource's name (contract, section 2). */
export const NAME = v.pipe(
  v.string("expected a string"),
  v.transform(toResourceName),
  v.check(
    (name) => findNameFault(name) === null,
    ({ input }) => `expected ${findNameFault(input) ?? "a name"}`,
  ),
);

export const DESCRIPTION = v.pipe(
  v.string("expected a string"),
  v.maxLength(10_000, "expected at most 10000 characters"),
);
