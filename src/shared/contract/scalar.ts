import * as v from "valibot";

/** What members of several resources are. */

/** ISO 8601 in UTC. */
export const TIME = v.pipe(v.string(), v.isoTimestamp());
export const MAYBE_TIME = v.nullable(TIME);
export const MAYBE_TEXT = v.nullable(v.string());
export const COUNT = v.pipe(v.number(), v.integer(), v.minValue(0));

/** As they are given. */
export const FLAG = v.boolean("expected true or false");
export const TEXT = v.string("expected a string");
