import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "./targets.ts";

const PAGES = "src/browser/pages";

/**
 * The browser modules of the user interface: one for each page (`webhooks.js`), which needs no other:
 * while a new version is rolled out, the next request may be another node's, which has other files.
 */
export async function bundleBrowser(): Promise<Map<string, Uint8Array>> {
  const entries = readdirSync(join(ROOT, PAGES));
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: entries.map((name) => `${PAGES}/${name}`),
    outdir: "/",
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2023",
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
    jsx: "automatic",
    jsxImportSource: "hono/jsx/dom",
    tsconfigRaw: {},
  });
  return new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
}
