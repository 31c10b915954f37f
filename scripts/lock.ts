import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * `npm run lock`, after a change of dependencies: a registry that lacks the packages of other
 * platforms makes npm leave them out of package-lock.json, which `npm ci` then refuses. This adds
 * them by the names and versions that the packages themselves give.
 */

interface Locked {
  version?: string;
  integrity?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

interface Lockfile {
  packages: Record<string, Locked>;
}

const SYSTEMS = "aix android darwin freebsd linux netbsd openbsd openharmony sunos win32";
const PROCESSORS = "arm64 x64 arm ia32 loong64 mips64el ppc64 riscv64 s390x wasm32";

const EXACT = /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/;

/**
 * @returns names of the packages that were added, and those that are asked for by a range: which
 *   version that is, the registry knows
 */
export function complete(lock: Lockfile): { added: string[]; ranges: string[] } {
  const added: string[] = [];
  const ranges: string[] = [];
  for (const [place, parent] of Object.entries(lock.packages))
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      const own = `${place}/node_modules/${name}`;
      const shared = `node_modules/${name}`;
      if (lock.packages[shared] !== undefined || lock.packages[own] !== undefined) continue;
      if (EXACT.test(version)) {
        lock.packages[shared] = toEntry(name, version, parent.dev === true);
        added.push(name);
      } else ranges.push(`"${name}" as "${version}"`);
    }
  const sorted = Object.entries(lock.packages).toSorted(([a], [b]) => a.localeCompare(b, "en"));
  lock.packages = Object.fromEntries(sorted);
  return { added, ranges };
}

/** The platform is in the name: `@deno/linux-x64-glibc`. */
function toEntry(name: string, version: string, dev: boolean): Locked {
  const words = name.replace(/^@[^/]+\//, "").split(/[-.]/);
  const find = (known: string) => known.split(" ").filter((word) => words.includes(word));
  const [os, cpu] = [find(SYSTEMS).slice(0, 1), find(PROCESSORS).slice(0, 1)];
  const isMusl = words.includes("musl") || words.includes("musleabihf");
  const isGlibc = ["gnu", "gnueabihf", "glibc"].some((word) => words.includes(word));
  const libc = os[0] === "linux" && (isMusl || isGlibc) ? [isMusl ? "musl" : "glibc"] : null;
  return {
    version,
    cpu,
    ...(dev ? { dev } : {}),
    ...(libc === null ? {} : { libc }),
    optional: true,
    os,
  };
}

if (import.meta.main) {
  const file = join(import.meta.dirname, "../package-lock.json");
  const lock = JSON.parse(readFileSync(file, "utf8")) as Lockfile;
  const { added, ranges } = complete(lock);
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`Added ${added.length} packages of other platforms`);
  const without = Object.entries(lock.packages).filter(([at, { integrity }]) => at && !integrity);
  // npm adds them where its registry has the packages: remove the entries there, and install.
  console.log(`${without.length} of other platforms have no digest: they are tools, never shipped`);
  for (const range of ranges)
    console.error(`Cannot lock ${range}: run npm install where a registry has it`);
  if (ranges.length > 0) process.exitCode = 1;
}
