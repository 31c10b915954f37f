import * as v from "valibot";
import type { Read } from "./read.ts";
import { MAYBE_TEXT } from "./scalar.ts";

/** What the service was started with. */
export const CONFIG = v.strictObject({
  file: v.pipe(MAYBE_TEXT, v.description("The configuration file; null: none was read")),
  items: v.array(
    v.strictObject({
      key: v.string(),
      value: v.pipe(v.unknown(), v.description("As the service uses it; null for a secret")),
      source: v.picklist(["file", "environment", "default"]),
      place: v.pipe(MAYBE_TEXT, v.description("FILE:LINE, or the variable; null: a default")),
      overrides: v.pipe(
        MAYBE_TEXT,
        v.description("The line of the file that the environment overrides; null: none"),
      ),
    }),
  ),
});

export type Config = Read<typeof CONFIG>;
