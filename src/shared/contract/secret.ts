import * as v from "valibot";
import type { Read } from "./read.ts";
import { NAME } from "./name.ts";
import { TEXT, TIME } from "./scalar.ts";

/** Its value cannot be read back. */
export const SECRET = v.strictObject({ name: v.string(), created_at: TIME, modified_at: TIME });

export type Secret = Read<typeof SECRET>;

const VALUE = v.pipe(
  TEXT,
  v.minLength(1, "expected at least 1 character"),
  v.maxLength(65_536, "expected at most 65536 characters"),
);

export const NEW_SECRET = v.strictObject({ name: NAME, value: VALUE });

export const SECRET_CHANGE = v.strictObject({ value: VALUE });
