import * as v from "valibot";
import type { Read } from "./read.ts";
import { DESCRIPTION, NAME } from "./name.ts";
import { TIME } from "./scalar.ts";

export const PROJECT = v.strictObject({
  id: v.string(),
  name: v.string(),
  description: v.string(),
  created_at: TIME,
  modified_at: TIME,
});

export type Project = Read<typeof PROJECT>;

export const NEW_PROJECT = v.strictObject({
  name: NAME,
  description: v.optional(DESCRIPTION, ""),
});

export const PROJECT_CHANGE = v.strictObject({
  name: v.optional(NAME),
  description: v.optional(DESCRIPTION),
});
