import * as v from "valibot";
import type { Read } from "./read.ts";
import { MAYBE_TEXT } from "./scalar.ts";

/** A folder of PLUGINS_DIR with a bundle.yaml. */
export const BUNDLE = v.strictObject({
  name: v.string(),
  description: MAYBE_TEXT,
  directory: v.string(),
  flows: v.array(v.string()),
});

export type Bundle = Read<typeof BUNDLE>;
