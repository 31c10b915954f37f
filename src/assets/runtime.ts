import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { EMBEDDED, type Embedded } from "./embedded.ts";
import { listAssets, VERSION } from "./read.ts";
import { openCheck, removeOthers, unpack, type Unpacking } from "./unpack.ts";

/** The files on disk that the program starts threads and processes from. */
export interface Runtime {
  readonly mode: "source" | "bundle" | "binary";
  /** Entry of the runner process. */
  readonly runner: string;
  /** Entry of Piscina's threads. */
  readonly thread: string;
  /** What `import 'flowhook'` means in the sandbox. */
  readonly author: string;
  /** Entry of the process that runs an author's tests. */
  readonly testProgram: string;
  /** What `import 'flowhook/testing'` means there. */
  readonly testing: string;
  /** Entry of the store's threads. */
  readonly storeThread: string;
  /** Entry of the store's thread where that is PostgreSQL. */
  readonly postgresThread: string;
  /** Entry of the thread that moves a store of SQLite into PostgreSQL. */
  readonly moveThread: string;
  /** Entry of the parser's thread. */
  readonly parserThread: string;
  /** The unpacked better_sqlite3.node; null: the package finds its own. */
  readonly addon: string | null;
  /** Files and folders that the threads of the sandbox need to read. */
  readonly readable: readonly string[];
  /**
   * Makes sure that the files are still what the build carries; for each process that is started
   * from them. It takes less than a millisecond while nobody has touched them.
   *
   * @returns whether somebody had, so that they lie in another folder of that name now
   * @throws Error where they cannot be written again
   */
  verify(): boolean;
}

/**
 * The runtime files: those of the source tree, or the ones that the build carries, unpacked once
 * to `DATA_DIR/runtime/<version>-<hash of contents>/`. Safe to call in several processes at once.
 *
 * @throws Error where they cannot be written, or where the build is for another platform
 */
export function openRuntime(dataDir: string): Runtime {
  const carried: Embedded | null = EMBEDDED;
  return carried === null ? sourceRuntime() : unpackedRuntime(carried, dataDir);
}

/**
 * Removes what earlier versions unpacked. Only for the process that holds the data folder's
 * lock: a service of the earlier version may still start runners from there.
 */
export function removeOldRuntimes(dataDir: string): void {
  const carried: Embedded | null = EMBEDDED;
  if (carried !== null) removeOthers(unpackingOf(carried, dataDir));
}

function sourceRuntime(): Runtime {
  const root = join(import.meta.dirname, "../..");
  return {
    mode: "source",
    runner: join(root, "src/runner/runner.ts"),
    thread: join(root, "src/sandbox/thread.ts"),
    author: join(root, "src/shared/author.ts"),
    testProgram: join(root, "src/testing/program.ts"),
    testing: join(root, "src/testing/testing.ts"),
    storeThread: join(root, "src/server/store/sqlite/thread.ts"),
    postgresThread: join(root, "src/server/store/postgres/thread.ts"),
    moveThread: join(root, "src/server/move-thread.ts"),
    parserThread: join(root, "src/server/parser-thread.ts"),
    addon: null,
    readable: ["src", "node_modules", "package.json"].map((name) => realpathSync(join(root, name))),
    // Whoever runs the sources may change them.
    verify: () => false,
  };
}

function unpackedRuntime(carried: Embedded, dataDir: string): Runtime {
  const unpacking = unpackingOf(carried, dataDir);
  const folder = unpack(unpacking);
  return {
    mode: carried.mode,
    runner: join(folder, "runner.cjs"),
    thread: join(folder, "thread.cjs"),
    author: join(folder, "flowhook.mjs"),
    testProgram: join(folder, "test-program.cjs"),
    testing: join(folder, "testing.mjs"),
    storeThread: join(folder, "store-thread.cjs"),
    postgresThread: join(folder, "postgres-thread.cjs"),
    moveThread: join(folder, "move-thread.cjs"),
    parserThread: join(folder, "parser-thread.cjs"),
    addon: join(folder, "better_sqlite3.node"),
    readable: [folder],
    verify: openCheck(unpacking, folder),
  };
}

function unpackingOf(carried: Embedded, dataDir: string): Unpacking {
  const addon = addonOf(carried);
  const assets = [...listAssets("runtime/"), addon];
  const files = assets.map((asset) => ({
    asset,
    name: asset === addon ? "better_sqlite3.node" : asset.slice("runtime/".length),
    digest: carried.digests[asset]!,
  }));
  return { parent: join(dataDir, "runtime"), version: VERSION, files };
}

/** The addon for this platform: with glibc or with musl, as the machine has it. */
function addonOf(carried: Embedded): string {
  const names = [`linuxmusl-${process.arch}`, `${process.platform}-${process.arch}`];
  const [musl, other] = names.map((name) => `addon/${name}.node`);
  const name = process.platform === "linux" && isMusl() ? musl! : other!;
  if (Object.hasOwn(carried.digests, name)) return name;
  const here = name.slice("addon/".length, -".node".length);
  throw new Error(
    `Cannot run on "${here}": this ${carried.mode} was built for "${carried.target}"; ` +
      `build one with \`npm run build -- --target ${process.platform}-${process.arch}\``,
  );
}

/** Which C library this process was loaded with, as the loader's mapping tells. */
function isMusl(): boolean {
  try {
    return /\/ld-musl-/.test(readFileSync("/proc/self/maps", "latin1"));
  } catch {
    return false;
  }
}
