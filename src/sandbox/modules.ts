import Module, {
  registerHooks,
  isBuiltin,
  type ResolveFnOutput,
  type ResolveHookContext,
} from "node:module";
import { extname, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { lineFor, needOf, substituteOf } from "./builtins.ts";
import type { ThreadData } from "./thread-messages.ts";

/**
 * What a flow can import: its version folder, `flowhook`, the packages of
 * PLUGINS_DIR/node_modules and harmless modules of the runtime.
 */

const SUBSTITUTE = "flowhook-substitute:";
const REFUSED = "flowhook-refused:";

const FORMATS: Readonly<Record<string, string>> = {
  ".ts": "module-typescript",
  ".mts": "module-typescript",
  ".js": "module",
  ".mjs": "module",
  ".cjs": "commonjs",
  ".json": "json",
};

/** What has been imported so far. */
export interface Imports {
  /** Files of the version folder, in the order in which they were asked for. */
  readonly files: Set<string>;
  /** Modules that need a permission, with the file that imports them; noted while inspecting. */
  readonly needed: { need: "files" | "net"; name: string; by: string }[];
}

interface Rules {
  readonly data: ThreadData;
  readonly imports: Imports;
  readonly version: string;
  readonly packages: string;
  /** Where flows look for packages. */
  readonly base: string;
  readonly author: string;
  readonly entry: string;
}

type Next = (specifier: string, context?: Partial<ResolveHookContext>) => ResolveFnOutput;

/** Sets the rules for everything that this thread imports or requires from now on. */
export function guardModules(data: ThreadData): Imports {
  const imports: Imports = { files: new Set(), needed: [] };
  const { directory, plugins_dir, entry } = data.spec;
  const rules: Rules = {
    data,
    imports,
    version: folder(directory),
    packages: folder(`${plugins_dir}${sep}node_modules`),
    base: pathToFileURL(`${plugins_dir}${sep}_.js`).href,
    author: pathToFileURL(data.author).href,
    entry: pathToFileURL(entry).href,
  };
  registerHooks({
    resolve: (specifier, context, next) => {
      try {
        return resolve(rules, specifier, context, next);
      } catch (error) {
        return refuse(specifier, error);
      }
    },
    load: (url, context, next) => {
      const source = sourceOf(url);
      return source === null
        ? next(url, context)
        : { format: "module", source, shortCircuit: true };
    },
  });
  closeLoader();
  return imports;
}

/**
 * Deno goes on with its own resolution where a hook throws, so there a module throws instead;
 * only for worker_threads it is the other way round (measured with 2.9.6).
 */
function refuse(specifier: string, error: unknown): ResolveFnOutput {
  if (!("Deno" in globalThis) || specifier === "node:worker_threads") throw error;
  const message = error instanceof Error ? error.message : String(error);
  return { url: REFUSED + encodeURIComponent(message), format: "module", shortCircuit: true };
}

/** Source text of modules that stand in place of others, null for files. */
function sourceOf(url: string): string | null {
  if (url.startsWith(SUBSTITUTE)) return substituteOf(url.slice(SUBSTITUTE.length));
  if (!url.startsWith(REFUSED)) return null;
  const message = JSON.stringify(decodeURIComponent(url.slice(REFUSED.length)));
  return `throw new Error(${message});\nexport default null;`;
}

/** Packages in the older format get hold of the loader as `module.constructor`. */
function closeLoader(): void {
  for (const name of ["registerHooks", "register", "createRequire"])
    Reflect.set(Module, name, undefined);
  const cache: unknown = Reflect.get(Module, "_cache");
  if (typeof cache !== "object" || cache === null) return;
  for (const path of Object.keys(cache)) Reflect.deleteProperty(cache, path);
}

/**
 * The file that imports is what it says it is only in the newer format, so no rule is wider
 * for some: what the program itself needs has been loaded before.
 */
function resolve(
  rules: Rules,
  specifier: string,
  context: ResolveHookContext,
  next: Next,
): ResolveFnOutput {
  const parent = context.parentURL;
  if (parent?.startsWith(SUBSTITUTE)) return next(specifier, context);
  if (specifier === "flowhook") return next(rules.author, context);
  if (specifier === "valibot" && parent === rules.author) return next(specifier, context);
  if (isBuiltin(specifier)) return resolveBuiltin(rules, specifier, context, next);
  if (/^[a-z][a-z0-9+.-]+:/i.test(specifier) && !specifier.startsWith("file:")) {
    throw new Error(
      `Cannot import "${specifier.slice(0, 100)}": flows import files and packages, not URLs`,
    );
  }
  const isPath = /^(\.{1,2}(\/|$)|\/|file:|#)/.test(specifier);
  const ofVersion = startsIn(parent, rules.version) || specifier === rules.entry;
  if (isPath)
    return inside(
      rules,
      specifier,
      next(specifier, context),
      ofVersion ? rules.version : rules.packages,
    );
  const from = ofVersion ? { ...context, parentURL: rules.base } : context;
  return inside(rules, specifier, findPackage(specifier, from, next), rules.packages);
}

function findPackage(specifier: string, context: ResolveHookContext, next: Next): ResolveFnOutput {
  try {
    return next(specifier, context);
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, "code") : null;
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw error;
    throw new Error(`Cannot find package "${specifier}": install it in PLUGINS_DIR/node_modules`);
  }
}

function resolveBuiltin(
  rules: Rules,
  specifier: string,
  context: ResolveHookContext,
  next: Next,
): ResolveFnOutput {
  const name = specifier.replace(/^node:/, "");
  const need = needOf(name);
  if (need === "never") {
    throw new Error(
      `Cannot import "node:${name}" in a flow: it reaches beyond the flow's own thread`,
    );
  }
  if (need !== "none" && rules.data.inspecting) {
    rules.imports.needed.push({ need, name, by: shownFile(rules, context.parentURL) });
  } else if (need !== "none" && !isGranted(rules, need)) {
    throw new Error(
      `Cannot import "node:${name}" without a permission: add ${lineFor(need)} to the flow`,
    );
  }
  if (substituteOf(name) === null) return next(specifier, context);
  return { url: SUBSTITUTE + name, format: "module", shortCircuit: true };
}

function isGranted(rules: Rules, need: "files" | "net"): boolean {
  const { net, read, write } = rules.data.spec.grants;
  return need === "net" ? net : read.length + write.length > 0;
}

/** What was found must lie in the folder, symlinks resolved. */
function inside(
  rules: Rules,
  specifier: string,
  found: ResolveFnOutput,
  allowed: string,
): ResolveFnOutput {
  const path = found.url.startsWith("file:") ? fileURLToPath(found.url) : "";
  if (!path.startsWith(allowed)) {
    const where = allowed === rules.version ? "the folder of the flow" : "PLUGINS_DIR/node_modules";
    throw new Error(`Cannot import "${specifier}": it is outside ${where}`);
  }
  if (allowed !== rules.version) return found;
  rules.imports.files.add(path);
  return { ...found, format: formatOf(path) };
}

function formatOf(path: string): string {
  const format = FORMATS[extname(path)];
  if (format !== undefined) return format;
  throw new Error(
    `Cannot import "${path}": flows import .ts, .mts, .js, .mjs, .cjs and .json files`,
  );
}

function startsIn(url: string | undefined, prefix: string): boolean {
  return url !== undefined && url.startsWith("file:") && fileURLToPath(url).startsWith(prefix);
}

function shownFile(rules: Rules, url: string | undefined): string {
  if (url === undefined || !url.startsWith("file:")) return "the flow";
  const path = fileURLToPath(url);
  return path.startsWith(rules.version) ? path.slice(rules.version.length) : path;
}

function folder(path: string): string {
  return path.endsWith(sep) ? path : path + sep;
}
