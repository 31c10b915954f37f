import { readFileSync, writeFileSync } from "node:fs";
import sea from "node:sea";
import type { runCommand } from "../src/cli/program.ts";
import { CompiledProgram } from "../src/shared/compiled-program.ts";

/**
 * `code-cache.ts TEXT CACHE`: compiles a program's text and keeps the code, so that a start
 * need not. A process of its own: the code is for the runtime and flags that it was made with.
 *
 * `code-cache.ts TEXT CACHE ASSETS`: what is compiled as it is first called, which most of a
 * program is, is kept as well: of a service that starts in this folder, and answers. ASSETS is a file
 * with the paths of the assets, by their names.
 */
const [, , text = "", cache = "", assets] = process.argv;
const program = new CompiledProgram<{ readonly runCommand: typeof runCommand }>(
  readFileSync(text, "latin1"),
  "flowhook",
);
if (assets !== undefined) await serve(assets).catch(stop);
writeFileSync(cache, program.cache());
process.exit();

/** Resolves once the service with the example flows was called. */
async function serve(assets: string): Promise<void> {
  const paths = JSON.parse(readFileSync(assets, "utf8")) as Record<string, string>;
  sea.getRawAsset = (name) => new Uint8Array(readFileSync(paths[name] ?? "")).buffer;
  const called = Promise.withResolvers<string>();
  process.stdout.write = (text: string | Uint8Array, ...more: unknown[]): boolean => {
    const url = /http:\S+\/call/.exec(String(text));
    if (url !== null) called.resolve(url[0]);
    const done = more.at(-1);
    if (typeof done === "function") done();
    return true;
  };
  const ended = program.load(process.execPath).runCommand(["serve", "--demo"]);
  const url = await Promise.race([called.promise, ended]);
  if (typeof url !== "string") throw new Error(`The program ended with ${url}`);
  for (const path of [url, new URL("/ui/", url)]) await answerOf(path);
}

/** The service would log it, and go on. */
function stop(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

async function answerOf(url: string | URL): Promise<void> {
  const answer = await fetch(url);
  await answer.text();
  if (!answer.ok) throw new Error(`${String(url)} was answered with ${answer.status}`);
}
