import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The forms of the product that the one suite runs against; chosen by FLOWHOOK_TARGET. */
export const TARGET_NAMES = ["source", "bundle", "binary", "deno", "postgres", "cluster"] as const;
export type TargetName = (typeof TARGET_NAMES)[number];

export interface Target {
  readonly name: TargetName;
  /** Program and leading arguments; the command line's own words follow. */
  readonly command: readonly [string, ...string[]];
  /** Why the target cannot run on this machine, or null. Printed with each skip. */
  readonly skip: string | null;
}

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The pinned runtime, so that a machine's older Node never runs the product. */
export const NODE = join(ROOT, "node_modules/.bin/node");

/**
 * The target that FLOWHOOK_TARGET names, `source` without it. A target that has to be built and
 * is not is an error, because a suite that skips what it was asked for proves nothing.
 */
export function openTarget(name = process.env["FLOWHOOK_TARGET"] ?? "source"): Target {
  switch (name) {
    case "source":
      return target(name, [NODE, "--import", tsx(), join(ROOT, "src/main.ts")]);
    case "bundle":
      return target(name, [NODE, built("flowhook.mjs")]);
    case "binary":
      return target(name, [built("flowhook")]);
    // The binary, each of whose services has a database of its own; see service.ts and cluster.ts.
    case "postgres":
    case "cluster":
      return target(name, [built("flowhook")]);
    case "deno":
      return target(name, [denoProgram(), "run", "-A", built("flowhook.mjs")], denoMissing());
    default:
      throw new Error(`Unknown FLOWHOOK_TARGET "${name}": use one of ${TARGET_NAMES.join(", ")}`);
  }
}

/** Whether a service has its store in PostgreSQL, without a word in its configuration. */
export function isOnPostgres(name: string | undefined): boolean {
  return name === "postgres" || name === "cluster";
}

function target(
  name: TargetName,
  command: readonly [string, ...string[]],
  skip: string | null = null,
): Target {
  return { name, command, skip };
}

function built(file: string): string {
  const path = join(ROOT, "build", file);
  if (!existsSync(path)) throw new Error(`Missing "build/${file}": run npm run build first`);
  return path;
}

/** Absolute, because the service starts in a folder of its own. */
function tsx(): string {
  return pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
}

function denoProgram(): string {
  return join(ROOT, "node_modules/deno/deno");
}

function denoMissing(): string | null {
  return existsSync(denoProgram()) ? null : "no Deno for this platform in node_modules";
}

/** Where servers lie, which not everybody's PATH has. */
const SERVERS = "/usr/sbin";

/** Where `name` is on this machine, or null: for programs that a machine may lack. */
export function findProgram(name: string): string | null {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), SERVERS];
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  return found ?? null;
}

const KEPT = ["HOME", "TMPDIR", "LANG", "SYSTEMROOT"];
/** The sources are compiled once for all of their starts, and not at each. */
const KEPT_FOR_SOURCE = [...KEPT, "NODE_COMPILE_CACHE"];

/** The least environment that a target needs: nothing of the caller's FLOWHOOK_ variables. */
export function environment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const names = process.env["FLOWHOOK_TARGET"] === "source" ? KEPT_FOR_SOURCE : KEPT;
  const kept = names.flatMap((key) => {
    const value = process.env[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  const path = [dirname(NODE), process.env["PATH"] ?? ""].join(delimiter);
  return { ...Object.fromEntries(kept), PATH: path, ...extra };
}
