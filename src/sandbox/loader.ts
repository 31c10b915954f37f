import ModuleNow, { syncBuiltinESMExports } from "node:module";
import { resolve as resolveNow, sep as separator } from "node:path";
import * as js from "../shared/intrinsics.ts";

/**
 * The runtime's loader of the older module format, which every such module gets hold of as
 * `module.constructor`: what it is asked for past the hooks is held to the same rules.
 */

/** Its functions are called through the object by the runtime itself, so they are replaced there. */
interface Loader {
  _load(request: unknown, parent: unknown, isMain: unknown, options?: LoadOptions): unknown;
  _findPath(request: unknown, paths: unknown, ...more: unknown[]): unknown;
  readonly prototype: { _compile: Compile };
}

type Compile = (this: unknown, text: unknown, filename: unknown, ...more: unknown[]) => unknown;

/** How the runtime tells its own loader what it has resolved already. */
interface LoadOptions {
  readonly resolved?: {
    readonly url?: unknown;
    readonly format?: unknown;
    readonly filename?: unknown;
  };
  readonly shouldSkipModuleHooks?: unknown;
  readonly source?: unknown;
}

export interface LoaderRules {
  /** With a separator at their ends: nothing outside of them is looked for. */
  readonly folders: readonly string[];
  /** What the names of modules begin with that are made, and lie nowhere. */
  readonly made: readonly string[];
  /** A path among the packages. */
  readonly base: string;
  /** @throws {Error} where a flow may not have this module of the runtime */
  requireBuiltin(name: string): void;
}

/** Reach the loader, files or other modules without asking the hooks. */
const DANGEROUS = [
  ...(js.IS_DENO ? ["createRequire"] : []),
  ...(
    "enableCompileCache findPackageJSON findSourceMap flushCompileCache " +
    "getCompileCacheDir register registerHooks runMain setSourceMapsSupport " +
    "syncBuiltinESMExports _initPaths _preloadModules _stat"
  ).split(" "),
];

const Module = ModuleNow;
const { isBuiltin } = Module;
const sep: string = separator;
const resolvePath = resolveNow;

/**
 * Call after the hooks are set, and before any code of a flow is loaded. What was changed of other
 * modules of the runtime is told to it as well.
 */
export function closeLoader(rules: LoaderRules): void {
  for (const name of DANGEROUS)
    Object.defineProperty(Module, name, { value: undefined, configurable: true, writable: true });
  forgetModules();
  // Deno's loader is its own: its permissions hold it.
  if (js.IS_DENO) return syncBuiltinESMExports();
  const loader = Module as unknown as Loader;
  loader._load = guardLoad(loader._load, rules);
  loader._findPath = guardSearch(loader._findPath, rules);
  loader.prototype._compile = guardCompile(loader.prototype._compile, rules);
  js.freeze(Module);
  js.freeze(Module.prototype);
  syncBuiltinESMExports();
  giveBuiltins(Module.createRequire(rules.base));
}

/** A package may ask the process for a module of the runtime: it gets what it could require. */
function giveBuiltins(require: (name: string) => unknown): void {
  const value = (name: unknown): unknown =>
    typeof name === "string" && isBuiltin(name) ? require(name) : undefined;
  Object.defineProperty(process, "getBuiltinModule", { value });
}

/** The program's own modules are no flow's. */
function forgetModules(): void {
  const cache: unknown = Reflect.get(Module, "_cache");
  if (typeof cache !== "object" || cache === null) return;
  for (const path of Object.keys(cache)) Reflect.deleteProperty(cache, path);
}

function guardLoad(load: Loader["_load"], { requireBuiltin }: LoaderRules): Loader["_load"] {
  const check = (name: unknown): void => {
    if (typeof name !== "string") throw new js.TypeError("A module is asked for by its name");
    if (isBuiltin(name)) requireBuiltin(js.startsWith(name, "node:") ? js.slice(name, 5) : name);
  };
  return (request, parent, isMain, options) => {
    // Without options the hooks are asked, and with them only sometimes.
    if (options === undefined) return js.apply(load, Module, [request, parent, isMain]);
    const given = copyOptions(options);
    check(request);
    if (given.resolved !== undefined) check(given.resolved.filename);
    return js.apply(load, Module, [request, parent, isMain, given]);
  };
}

/** Read once: what was checked is what is used. Whoever calls may have getters of its own in it. */
// oxlint-disable-next-line flowhook/captured -- members of the caller's own object, no getters of RegExp
function copyOptions({ resolved, shouldSkipModuleHooks, source }: LoadOptions): LoadOptions {
  // oxlint-disable-next-line flowhook/captured -- the same, no getters of Intl
  const { url, format, filename } = resolved ?? {};
  const told = resolved ? { __proto__: null, url, format, filename } : undefined;
  return { __proto__: null, resolved: told, shouldSkipModuleHooks, source } as LoadOptions;
}

/** Whether a file is there is told of the folders alone. */
function guardSearch(find: Loader["_findPath"], { folders }: LoaderRules): Loader["_findPath"] {
  return (request, paths, ...more) => {
    const isPath = typeof request === "string" && js.startsWith(request, sep);
    if (isPath && !isInside(folders, request)) return false;
    const kept: unknown[] = [];
    const given = paths as { readonly [at: number]: unknown; readonly length: number } | undefined;
    const count = given?.length ?? 0;
    for (let at = 0; at < count; at += 1)
      if (isInside(folders, given?.[at])) js.push(kept, given?.[at]);
    return js.apply(find, Module, [request, kept, more[0], more[1]]);
  };
}

/**
 * A text is a module of these folders alone: where it claims the place of another, the runtime gives
 * the one that it has loaded from there, such as the program's own.
 */
function guardCompile(compile: Compile, { folders, made }: LoaderRules): Compile {
  const isOwn = (path: unknown): boolean =>
    isInside(folders, path) && resolvePath(path as string) === path;
  return function (this: unknown, text, filename, ...more) {
    if (!isOwn(filename) && !isMade(made, filename))
      throw new js.TypeError("A module lies in the folder of the flow, or of its packages");
    return js.apply(compile, this, [text, filename, more[0], more[1]]);
  };
}

/** As a path it stays beside the working folder: with a way up it could lead to the program. */
function isMade(made: readonly string[], name: unknown): boolean {
  if (typeof name !== "string" || js.includes(name, "/..") || js.includes(name, "\\")) return false;
  return js.some(made, (begin) => js.startsWith(name, begin));
}

function isInside(folders: readonly string[], path: unknown): boolean {
  if (typeof path !== "string") return false;
  const resolved = `${resolvePath(path)}${sep}`;
  return js.some(folders, (folder) => js.startsWith(resolved, folder));
}
