import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import manifest from "../../package.json" with { type: "json" };
import { EMBEDDED, type Embedded } from "./embedded.ts";

/** The product's version (semver). */
export const VERSION: string = manifest.version;

const ROOT = join(import.meta.dirname, "../..");

/** Where assets lie in the source, by the first segment of their name. */
const SOURCES: Readonly<Record<string, string>> = { "demo/": "plugins/", "": "src/assets/files/" };

/**
 * The content of an asset: pages and styles by their name (`default-styling.css`), the example
 * flows below `demo/` (`demo/hello.ts`).
 *
 * @throws Error where there is no such asset
 */
export function readAsset(name: string): Uint8Array {
  const carried: Embedded | null = EMBEDDED;
  if (carried === null) return readFileSync(sourceOf(name));
  if (!Object.hasOwn(carried.digests, name)) throw new Error(`Cannot read the asset "${name}"`);
  if (carried.mode === "binary") return readFromBinary(name);
  return brotliDecompressSync(Buffer.from(carried.texts[name]!(), "base64"));
}

/** The names of all assets that start with a prefix, in order. */
export function listAssets(prefix: string): string[] {
  const carried: Embedded | null = EMBEDDED;
  const names = carried === null ? listSource() : Object.keys(carried.digests);
  return names.filter((name) => name.startsWith(prefix)).sort();
}

/** Deno has no node:sea, so it is not imported but asked for. */
function readFromBinary(name: string): Uint8Array {
  return new Uint8Array(process.getBuiltinModule("node:sea").getRawAsset(name));
}

function sourceOf(name: string): string {
  const prefix = name.startsWith("demo/") ? "demo/" : "";
  return join(ROOT, SOURCES[prefix]!, name.slice(prefix.length));
}

function listSource(): string[] {
  return Object.entries(SOURCES).flatMap(([prefix, folder]) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(join(ROOT, folder).length))
      .map((path) => prefix + path.replaceAll("\\", "/")),
  );
}
