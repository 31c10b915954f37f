import * as v from "valibot";
import type { Read } from "./read.ts";
import { NAME } from "./name.ts";
import { TIME } from "./scalar.ts";

export const SETTING = v.strictObject({
  name: v.string(),
  value: v.unknown(),
  created_at: TIME,
  modified_at: TIME,
});

export type Setting = Read<typeof SETTING>;

export const NEW_SETTING = v.strictObject({ name: NAME, value: v.unknown() });

export const SETTING_CHANGE = v.strictObject({ value: v.unknown() });
