import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { ROOT, type Target } from "./targets.ts";

/** What the build carries: names as `readAsset` knows them, and contents. */
export type Assets = ReadonlyMap<string, Uint8Array>;

const COMMON: BuildOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  write: false,
  platform: "node",
  target: "node26",
  charset: "utf8",
  legalComments: "inline",
  logLevel: "warning",
  tsconfigRaw: {},
  external: ["@napi-rs/nice"],
};

/** CommonJS inside an ES module asks for these three. */
const ESM_BANNER = `import { createRequire as __createRequire } from "node:module";
const require = __createRequire(import.meta.url);
const __filename = import.meta.filename;
const __dirname = import.meta.dirname;`;

const CJS_BANNER = `const __import_meta_url = require("node:url").pathToFileURL(__filename).href;`;

/** The program as one ES module, with its assets inside or, for a binary, beside it. */
export async function bundleProgram(
  entry: string,
  mode: "bundle" | "binary",
  target: string,
  assets: Assets,
): Promise<Uint8Array> {
  return bundleModule(entry, [embed(embeddedModule(mode, target, assets))]);
}

/** Everything that the program reads at run time: threads, addons, styles, example flows. */
export async function gatherAssets(target: Target): Promise<Assets> {
  const [runner, worker, thread, author, store] = await Promise.all([
    bundleCommonJs("src/sandbox/runner.ts"),
    // Piscina starts `resolve(__dirname, "worker.js")`, so it lies beside the runner.
    bundleCommonJs("node_modules/piscina/dist/worker.js"),
    bundleModule("src/sandbox/thread.ts"),
    bundleModule("src/flows/author.ts"),
    bundleCommonJs("src/store/store-thread.ts"),
  ]);
  return new Map([
    ["runtime/runner.cjs", runner],
    ["runtime/worker.js", worker],
    ["runtime/thread.mjs", thread],
    ["runtime/flowhook.mjs", author],
    ["runtime/store-thread.cjs", store],
    ["runtime/package.json", Buffer.from('{"type":"commonjs"}\n')],
    ...target.addons.map((name) => [`addon/${name}.node`, readAddon(name)] as const),
    ...readFolder("src/assets/files", ""),
    ...readFolder("plugins", "demo/"),
  ]);
}

async function bundleModule(entry: string, plugins: Plugin[] = []): Promise<Uint8Array> {
  const banner = { js: ESM_BANNER };
  return firstOutput({ ...COMMON, entryPoints: [entry], format: "esm", banner, plugins });
}

async function bundleCommonJs(entry: string): Promise<Uint8Array> {
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

function readFolder(folder: string, prefix: string): [string, Uint8Array][] {
  const files = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return files
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [
      prefix + path.slice(join(ROOT, folder).length + 1).replaceAll("\\", "/"),
      readFileSync(path),
    ]);
}
