import { registerHooks, type LoadHookContext, type ResolveFnOutput } from "node:module";
import { extname, sep } from "node:path";
import { run } from "node:test";
import * as reporters from "node:test/reporters";
import { fileURLToPath } from "node:url";
import { IMPORTED, NONE_FITS, toModules, type TestSetup } from "../shared/wire/trial.ts";

/**
 * The program of `flowhook flow test`'s child process: node:test runs the author's test files in it.
 * Flows that tests import are loaded here for their exports; `testFlow` runs them in the sandbox.
 * Deno runs the files itself, and loads this before them.
 */

const setup = JSON.parse(process.argv.at(-1) ?? "") as TestSetup;
const imported = new Set<string>();
Reflect.set(globalThis, Symbol.for(IMPORTED), imported);

const MODULES = toModules(setup);

/** Modules as flows are loaded: whatever a package.json says. */
const FORMATS: Readonly<Record<string, string>> = {
  ".ts": "module-typescript",
  ".mts": "module-typescript",
  ".js": "module",
  ".mjs": "module",
};

registerHooks({
  resolve(specifier, context, next): ResolveFnOutput {
    const url = MODULES[specifier];
    if (url !== undefined) return next(url, context);
    const found = next(specifier, context);
    if (isOwn(found.url)) imported.add(found.url);
    return found;
  },
  load(url, context, next) {
    return next(url, isOwn(url) ? withFormat(url, context) : context);
  },
});

function isOwn(url: string): boolean {
  if (!url.startsWith("file:")) return false;
  const path = fileURLToPath(url);
  return path.startsWith(setup.plugins_dir + sep) && !path.includes(`${sep}node_modules${sep}`);
}

function withFormat(url: string, context: LoadHookContext): LoadHookContext {
  const format = FORMATS[extname(fileURLToPath(url))];
  return format === undefined ? context : { ...context, format };
}

// Without the command nobody runs its flows, or waits for it. To listen alone keeps no process.
process.once("disconnect", () => process.exit(1));
process.channel?.unref();

if (!("Deno" in globalThis)) runTests(setup);

function runTests({ name, files, reporter }: TestSetup): void {
  const tests = run({
    files: [...files],
    isolation: "none",
    ...(name === null ? {} : { testNamePatterns: [name] }),
  });
  let isAnyFit = name === null;
  tests.on("test:pass", () => (isAnyFit = true));
  tests.on("test:fail", () => (process.exitCode = 1));
  tests.on("end", () => {
    if (!isAnyFit) process.exitCode ??= NONE_FITS;
  });
  const Reporter = reporters[reporter];
  const report = tests.compose(isClass(Reporter) ? new Reporter() : Reporter);
  // A reader that closes its end (`| head`) wants no more: the tests go on.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    report.resume();
  });
  report.pipe(process.stdout);
}

function isClass(reporter: unknown): reporter is new () => NodeJS.ReadWriteStream {
  return (
    typeof reporter === "function" && /^class\b/.test(Function.prototype.toString.call(reporter))
  );
}
