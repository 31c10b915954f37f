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

const CJS_BANNER = `const __import_meta_url = require("node:url").pathToFileURL(__filename).href;`;

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
      banner: { js: `(function (exports, require, module, __filename, __dirname) {${CJS_BANNER}` },
      footer: { js: "})" },
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

/** What a runner's process is started from, by the names of its files. */
export async function bundleRunner(): Promise<Assets> {
  const [runner, worker, thread, author] = await Promise.all([
    bundleCommonJs("src/runner/runner.ts"),
    // Piscina starts `resolve(__dirname, "worker.js")`, so it lies beside the runner.
    bundleCommonJs("node_modules/piscina/dist/worker.js"),
    bundleModule("src/sandbox/thread.ts"),
    bundleModule("src/shared/author.ts"),
  ]);
  return new Map<string, Uint8Array>([
    ["runner.cjs", runner],
    ["worker.js", worker],
    ["thread.mjs", thread],
    ["flowhook.mjs", author],
    ["package.json", Buffer.from('{"type":"commonjs"}\n')],
  ]);
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
