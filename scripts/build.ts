import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  bundleBinary,
  bundleProgram,
  bundleRecordedThread,
  gatherAssets,
  type Assets,
} from "./bundle.ts";
import { hostTarget, openRuntimeOf, ROOT, TARGETS } from "./targets.ts";

/** `npm run build [-- --target PLATFORM]`: build/flowhook.mjs and the single binary build/flowhook. */

const BUILD = join(ROOT, "build");

async function main(name: string): Promise<void> {
  const started = performance.now();
  const target = TARGETS[name];
  if (target === undefined) return refuse(name);
  mkdirSync(BUILD, { recursive: true });
  const stem = name === hostTarget() ? "flowhook" : `flowhook-${name}`;
  const assets = await gatherAssets(target);
  const bundle = await bundleProgram(name, assets);
  publish(`${stem}.mjs`, (path) => writeFileSync(path, bundle));
  const carried = name === hostTarget() ? await addThreadCache(assets) : assets;
  const binary = await bundleBinary(name, carried);
  publish(stem + target.extension, (path) => buildBinary(path, binary, carried, name));
  console.log(`built for ${name} in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  if (name.startsWith("darwin")) {
    console.log(`On macOS, sign it once: codesign --sign - build/${stem}`);
  }
}

function refuse(name: string): void {
  console.error(`Cannot build for "${name}", expected one of ${Object.keys(TARGETS).join(", ")}`);
  process.exitCode = 2;
}

/**
 * Flags of the single binary, server and runners alike: no signal opens a debugger; and what a call
 * needs has gone before the young generation is full, so that little of it is copied (a fifth more
 * calls a second). It has that size from the start, for little survives that would have it grow.
 */
const EXEC_ARGV = ["--disable-sigusr1", "--max-semi-space-size=32", "--min-semi-space-size=32"];

/** Starting a service to see what it compiles takes seconds; longer is a fault. */
const CACHE_MS = 120_000;

const RUNTIME = "runtime/";

/** With what a thread compiles of its program while it runs a flow. */
async function addThreadCache(assets: Assets): Promise<Assets> {
  const folder = mkdtempSync(join(BUILD, ".thread-"));
  try {
    for (const [name, bytes] of assets)
      if (name.startsWith(RUNTIME)) writeFileSync(join(folder, name.slice(RUNTIME.length)), bytes);
    writeFileSync(join(folder, "thread.cjs"), await bundleRecordedThread());
    runApart("thread-cache.ts", [folder], folder);
    return new Map(assets).set(
      `${RUNTIME}thread.cache`,
      readFileSync(join(folder, "thread.cache")),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A script in a process of its own. */
function runApart(script: string, args: readonly string[], folder: string): void {
  execFileSync(process.execPath, [join(ROOT, "scripts", script), ...args], {
    cwd: folder,
    env: { FLOWHOOK_LISTEN_PORT: "0", FLOWHOOK_ADMIN_PASSWORD: randomUUID() },
    stdio: ["ignore", "ignore", "inherit"],
    timeout: CACHE_MS,
  });
}

/** Node's single executable application: the runtime with the program and its assets inside. */
function buildBinary(
  output: string,
  { entry, program }: { entry: Uint8Array; program: Uint8Array },
  assets: Assets,
  target: string,
): void {
  const folder = mkdtempSync(join(BUILD, ".binary-"));
  try {
    writeFileSync(join(folder, "main.cjs"), entry);
    const files = writeAssets(folder, new Map(assets).set("program.cjs", program));
    const configuration = {
      // As stack traces name it: without the folder in which it was built.
      main: "main.cjs",
      executable: openRuntimeOf(TARGETS[target]!),
      output,
      disableExperimentalSEAWarning: true,
      execArgv: EXEC_ARGV,
      // NODE_OPTIONS of whatever environment could name code to be run: flags come by the command
      // line alone, as the server starts its runners.
      execArgvExtension: "cli",
      assets: { ...files, ...writeCodeCaches(folder, files, target) },
    };
    const file = join(folder, "configuration.json");
    writeFileSync(file, JSON.stringify(configuration));
    execFileSync(process.execPath, ["--build-sea", file], {
      stdio: ["ignore", "ignore", "inherit"],
      cwd: folder,
    });
    chmodSync(output, 0o755);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Two caches of compiled code: one that any command loads, and a larger one for a service, with the
 * functions that it calls. Empty for another platform, to which code of this machine's runtime is of no
 * use.
 */
function writeCodeCaches(
  folder: string,
  files: Readonly<Record<string, string>>,
  target: string,
): Record<string, string> {
  const caches = {
    "program.cache": join(folder, "program.cache"),
    "service.cache": join(folder, "service.cache"),
  };
  for (const cache of Object.values(caches)) writeFileSync(cache, "");
  if (target !== hostTarget()) return caches;
  const program = files["program.cjs"] ?? "";
  runApart("code-cache.ts", [program, caches["program.cache"]], folder);
  const names = join(folder, "assets.json");
  writeFileSync(names, JSON.stringify(files));
  runApart("code-cache.ts", [program, caches["service.cache"], names], folder);
  return caches;
}

function writeAssets(folder: string, assets: Assets): Record<string, string> {
  return Object.fromEntries(
    [...assets].map(([name, bytes], index) => {
      const path = join(folder, `asset-${index}`);
      writeFileSync(path, bytes);
      return [name, path];
    }),
  );
}

/** Written beside and renamed, so that a running program keeps its own file. */
function publish(name: string, make: (path: string) => void): void {
  const path = join(BUILD, name);
  make(`${path}.new`);
  renameSync(`${path}.new`, path);
  console.log(`build/${name}  ${(statSync(path).size / 1_048_576).toFixed(1)} MB`);
}

const { values } = parseArgs({ options: { target: { type: "string", default: hostTarget() } } });
await main(values.target);
