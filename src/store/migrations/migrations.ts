import type { Kysely } from "kysely";
import * as first from "./0001-first.ts";
import * as keyUse from "./0002-key-use.ts";

/** In order. A static map, because a scan of a folder does not survive bundling. */
export const MIGRATIONS: ReadonlyMap<string, (db: Kysely<unknown>) => Promise<void>> = new Map([
  ["0001-first", first.up],
  ["0002-key-use", keyUse.up],
]);
