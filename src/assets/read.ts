import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import manifest from "../../package.json" with { type: "json" };
import { listSources } from "./carried.ts";
import { EMBEDDED, type Embedded } from "./embedded.ts";

/** The product's version (semver). */
export const VERSION: string = manifest.version;

const ROOT = join(import.meta.dirname, "../..");

/**
 * The content of an asset: pages and styles by their name (`default-styling.css`), the example
 * flows below `demo/` (`demo/hello.ts`), pages of the documentation below `docs/`, declarations for
 * editors below `types/`, files of packages below `vendor/`.
 *
 * @throws Error where there is no such asset
 */
export function readAsset(name: string): Uint8Array {
  const carried: Embedded | null = EMBEDDED;
  if (carried === null) return readFileSync(listSources(ROOT).get(name) ?? unknown(name));
  if (!Object.hasOwn(carried.digests, name)) return unknown(name);
  if (carried.mode === "binary") return readFromBinary(name);
  return brotliDecompressSync(Buffer.from(carried.texts[name]!(), "base64"));
}

/** The names of all assets that start with a prefix, in order. */
export function listAssets(prefix: string): string[] {
  const carried: Embedded | null = EMBEDDED;
  const names = carried === null ? listSources(ROOT).keys() : Object.keys(carried.digests);
  return [...names].filter((name) => name.startsWith(prefix)).sort();
}

/** Deno has no node:sea, so it is not imported but asked for. */
function readFromBinary(name: string): Uint8Array {
  return new Uint8Array(process.getBuiltinModule("node:sea").getRawAsset(name));
}

function unknown(name: string): never {
  throw new Error(`Cannot read the asset "${name}": there is none of this name`);
}
