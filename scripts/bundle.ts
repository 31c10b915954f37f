import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { bundleBrowser } from "./browser.ts";
import { listSources } from "../src/assets/carried.ts";
import { ROOT, type Target } from "./targets.ts";

/** What the build carries: names as `readAsset` knows them, and contents. */
export type Assets = ReadonlyMap<string, Uint8Array>;

const COMMON: BuildOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  write: false,
  platform: "node",
  target: "node26",
  // Latin-1 alone: a text with other letters takes twice the memory.
  charset: "ascii",
  legalComments: "inline",
  logLevel: "warning",
  tsconfigRaw: {},
  jsx: "automatic",
  jsxImportSource: "hono/jsx",
  // What is optional, and not installed.
  external: ["@napi-rs/nice", "pg-native"],
};

/** CommonJS packages inside the program's ES module ask for these three. */
const ESM_BANNER = `import { createRequire as __createRequire } from "node:module";
const require = __createRequire(import.meta.url);
const __filename = import.meta.filename;
const __dirname = import.meta.dirname;`;

/** A program as the text of a function, see src/shared/compiled-program.ts. */
const FUNCTION = { begin: "(function (require, __filename) {", end: "})" };

const CJS_BANNER = `const __import_meta_url = require("node:url").pathToFileURL(__filename).href;`;

/** What a module of the older format has, and a function has not. */
const MODULE_BANNER = `const module = { exports: {} }, { exports } = module;
const __dirname = require("node:path").dirname(__filename);`;

/** The program as one ES module, with its assets inside. */
export function bundleProgram(target: string, assets: Assets): Promise<Uint8Array> {
  const plugins = [embed(embeddedModule("bundle", target, assets))];
  return bundleModule("src/main.ts", { banner: { js: ESM_BANNER }, plugins });
}

/** The single binary's entry, and the program that it loads as the text of a function. */
export async function bundleBinary(
  target: string,
  assets: Assets,
): Promise<{ entry: Uint8Array; program: Uint8Array }> {
  const plugins = [embed(embeddedModule("binary", target, assets))];
  return {
    entry: await bundleCommonJs("src/binary.ts"),
    program: await bundleCommonJs("src/cli/program.ts", {
      plugins,
      // Names stay, for the stacks in the log.
      minifyWhitespace: true,
      minifySyntax: true,
      banner: { js: `${FUNCTION.begin}${MODULE_BANNER}${CJS_BANNER}` },
      footer: { js: `return module.exports;${FUNCTION.end}` },
    }),
  };
}

/** Everything that the program reads at run time: threads, addons, styles, example flows. */
export async function gatherAssets(target: Target): Promise<Assets> {
  const [runtime, testing, tests, store, postgres, move, parser, browser] = await Promise.all([
    bundleRunner(),
    bundleModule("src/testing/testing.ts"),
    bundleCommonJs("src/testing/program.ts"),
    bundleCommonJs("src/server/store/sqlite/thread.ts"),
    bundlePostgresThread(),
    bundleCommonJs("src/server/move-thread.ts"),
    bundleCommonJs("src/server/parser-thread.ts"),
    bundleBrowser(),
  ]);
  return new Map<string, Uint8Array>([
    ...[...runtime].map(([name, bytes]) => [`runtime/${name}`, bytes] as const),
    ["runtime/testing.mjs", testing],
    ["runtime/test-program.cjs", tests],
    ["runtime/store-thread.cjs", store],
    ["runtime/postgres-thread.cjs", postgres],
    ["runtime/move-thread.cjs", move],
    ["runtime/parser-thread.cjs", parser],
    ...target.addons.map((name) => [`addon/${name}.node`, readAddon(name)] as const),
    ...[...browser].map(([name, bytes]) => [`ui/${name}`, bytes] as const),
    ...[...listSources(ROOT)].map(([name, path]) => [name, readFileSync(path)] as const),
  ]);
}

/**
 * What a runner's process is started from, by the names of its files. The cache is the binary's alone:
 * it is sure of the runtime that loads it.
 */
export async function bundleRunner(): Promise<Assets> {
  const [runner, worker, thread, program, author] = await Promise.all([
    bundleCommonJs("src/runner/runner.ts"),
    // Piscina starts `resolve(__dirname, "worker.js")`, so it lies beside the runner.
    bundleCommonJs("node_modules/piscina/dist/worker.js"),
    bundleCommonJs("src/sandbox/entry.ts"),
    bundleThread(),
    bundleModule("src/shared/author.ts", { minifyWhitespace: true, minifySyntax: true }),
  ]);
  return new Map<string, Uint8Array>([
    ["runner.cjs", runner],
    ["worker.js", worker],
    ["thread.cjs", thread],
    ["thread-program.js", program],
    ["thread.cache", new Uint8Array()],
    ["flowhook.mjs", author],
    ["package.json", Buffer.from('{"type":"commonjs"}\n')],
    // Deno looks no further up for what configures a runner: no file of another folder does.
    ["deno.json", Buffer.from('{"workspace":[],"lock":false}\n')],
  ]);
}

/** Entry of a thread whose compiled code is kept. */
export function bundleRecordedThread(): Promise<Uint8Array> {
  return bundleCommonJs("scripts/recorded-thread.ts");
}

/**
 * The thread's program as a function. From a module, as what that imports is never looked up again: a
 * flow can change the members of what is required.
 */
export async function bundleThread(entry = "src/sandbox/thread.ts"): Promise<Uint8Array> {
  const { outputFiles, metafile } = await build({
    ...COMMON,
    write: false,
    metafile: true,
    entryPoints: [entry],
    format: "esm",
    define: { "import.meta.filename": "__filename" },
  });
  const imports = Object.values(metafile.outputs)
    .flatMap((output) => output.imports)
    .filter(({ kind }) => kind === "import-statement");
  const module = Buffer.from(outputFiles[0]!.contents).toString("latin1");
  return Buffer.from(toFunction(module, imports.length), "latin1");
}

const IMPORT = /^import (?:(\w+),? )?(?:\{([^}]*)\} )?from ("node:[\w/]+");\n/gm;
const EXPORT = /^export \{\s+(\w+) as default\s+\};\n/gm;

/**
 * Of esbuild's output: anything else of a module left in it is an error where it is compiled.
 * @param count of its imports: more are in a text, and less would be left
 */
function toFunction(module: string, count: number): string {
  const found = [...module.matchAll(IMPORT)];
  const known = found.filter(([, , named]) => named?.includes("default as") !== true);
  if (found.length !== count || known.length !== count)
    throw new Error(`Cannot write a function: ${known.length} of ${count} imports are understood`);
  if ([...module.matchAll(EXPORT)].length !== 1)
    throw new Error("Cannot write a function: expected one default export, and no text like it");
  const imports = found.map(([, whole, named, from]) => {
    const members = named === undefined ? "" : `{${named.replaceAll(" as ", ": ")}}`;
    return [whole, members]
      .filter((names) => names)
      .map((names) => `const ${names} = require(${from});\n`)
      .join("");
  });
  const rest = module.replaceAll(IMPORT, "").replace(EXPORT, "return $1;\n");
  return `${FUNCTION.begin}"use strict";\n${imports.join("")}${rest}${FUNCTION.end}`;
}

/** The store's thread that speaks to PostgreSQL. */
export function bundlePostgresThread(): Promise<Uint8Array> {
  return bundleCommonJs("src/server/store/postgres/thread.ts");
}

/** Without a banner unless asked for: a flow may not import what the banner imports. */
async function bundleModule(entry: string, more: BuildOptions = {}): Promise<Uint8Array> {
  return firstOutput({ ...COMMON, entryPoints: [entry], format: "esm", ...more });
}

async function bundleCommonJs(entry: string, more: BuildOptions = {}): Promise<Uint8Array> {
  return firstOutput({
    ...COMMON,
    entryPoints: [entry],
    format: "cjs",
    banner: { js: CJS_BANNER },
    define: {
      "import.meta.url": "__import_meta_url",
      "import.meta.dirname": "__dirname",
      "import.meta.filename": "__filename",
    },
    ...more,
  });
}

async function firstOutput(options: BuildOptions): Promise<Uint8Array> {
  const { outputFiles } = await build({ ...options, write: false });
  return outputFiles[0]!.contents;
}

/** Puts the carried assets in the place of `src/assets/embedded.ts`. */
function embed(contents: string): Plugin {
  return {
    name: "embed",
    setup(build) {
      build.onLoad({ filter: /[\\/]src[\\/]assets[\\/]embedded\.ts$/ }, () => ({
        contents,
        loader: "js",
      }));
    },
  };
}

function embeddedModule(mode: "bundle" | "binary", target: string, assets: Assets): string {
  const digests = Object.fromEntries([...assets].map(([name, bytes]) => [name, digestOf(bytes)]));
  const texts = mode === "binary" ? [] : [...assets].map(([name, bytes]) => textEntry(name, bytes));
  return [
    "export const EMBEDDED = {",
    `mode: ${JSON.stringify(mode)}, target: ${JSON.stringify(target)},`,
    `digests: ${JSON.stringify(digests)},`,
    `texts: {${texts.join("\n")}} };`,
    "export const bundleBrowser = null;",
  ].join("\n");
}

function textEntry(name: string, bytes: Uint8Array): string {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  const text = brotliCompressSync(bytes, { params }).toString("base64");
  return `${JSON.stringify(name)}: () => "${text}",`;
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function readAddon(name: string): Uint8Array {
  return readFileSync(join(ROOT, "node_modules/better-sqlite3/prebuilds", `${name}.node`));
}
