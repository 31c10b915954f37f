import * as v from "valibot";
import type { Read } from "./read.ts";
import { MAYBE_TEXT, MAYBE_TIME, TIME } from "./scalar.ts";

/** A login token; its own text is shown only where it was made. */
export const TOKEN = v.strictObject({
  id: v.string(),
  user_name: v.string(),
  is_current: v.boolean(),
  created_at: TIME,
  expires_at: TIME,
  last_used_at: MAYBE_TIME,
  last_used_from: MAYBE_TEXT,
});

export type Token = Read<typeof TOKEN>;
