import {
  isBuiltin as isBuiltinNow,
  registerHooks,
  type LoadFnOutput,
  type ResolveFnOutput,
  type ResolveHookContext,
} from "node:module";
import {
  dirname as dirnameNow,
  extname as extnameNow,
  resolve as resolveNow,
  sep,
} from "node:path";
import { fileURLToPath as fileURLToPathNow, pathToFileURL } from "node:url";
import * as js from "../shared/intrinsics.ts";
import { isGiven, requireBuiltin, type Needed } from "./builtin-rules.ts";
import { mayUseFetch } from "./fetch-classes.ts";
import {
  describeFile,
  describeOutside,
  describeUrl,
  findMeant,
  nameAsWritten,
  toPath,
} from "./import-advice.ts";
import { closeLoader } from "./loader.ts";
import { describeAbove, isAbove, isNotFound, toPackageError } from "./package-advice.ts";
import { substituteOf } from "./reduced-builtins.ts";
import { hasStandIn, standInOf } from "./stand-ins.ts";
import { toMessage } from "./text.ts";
import type { ThreadData } from "../shared/wire/thread-messages.ts";

/**
 * What a flow can import: its version folder, `flowhook`, the packages of
 * PLUGINS_DIR/node_modules and harmless modules of the runtime.
 */

// What is imported by its name changes with what a flow does to the module that exports it.
const [isBuiltin, fileURLToPath] = [isBuiltinNow, fileURLToPathNow];
const [dirname, extname, resolvePath] = [dirnameNow, extnameNow, resolveNow];

const SUBSTITUTE = "flowhook-substitute:";
const REFUSED = "flowhook-refused:";
const NODE = "node:";
const FILE = "file:";

const SCHEME = /^[a-z][a-z0-9+.-]+:/i;
const PATH = /^(?:\.{1,2}(?:\/|$)|\/|file:|#)/;

const FORMATS = {
  __proto__: null,
  ".ts": "module-typescript",
  ".mts": "module-typescript",
  ".js": "module",
  ".mjs": "module",
  ".cjs": "commonjs",
  ".json": "json",
} as unknown as Readonly<Record<string, string>>;

/** What has been imported so far. */
export interface Imports {
  /** Files of the version folder, in the order in which they were asked for. */
  readonly files: Set<string>;
  /** Modules that need a permission; noted while inspecting. */
  readonly needed: Needed[];
  /** Native addons, as they were asked for. */
  readonly addons: Set<string>;
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

/**
 * Sets the rules for everything that this thread imports or requires from now on.
 *
 * @param onFetch called before the code of a module runs that may use the classes of `fetch`
 */
export function guardModules(data: ThreadData, onFetch: () => void): Imports {
  const imports: Imports = { files: new Set(), needed: [], addons: new Set() };
  const { directory, plugins_dir, entry, stripped } = data.spec;
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
      const substitute = sourceOf(url);
      if (substitute !== null) return toLoaded(substitute);
      // A module of the older format can ask its loader for a module that was never resolved.
      const isNode = js.startsWith(url, NODE);
      if (isNode) requireBuiltin(data, imports.needed, js.slice(url, NODE.length), null);
      const text = js.hasOwn(stripped, url) ? stripped[url] : undefined;
      const loaded = text === undefined ? tellFormat(url, next(url, context)) : toLoaded(text);
      const isOwn = isNode || url === rules.author;
      if (!isOwn && mayUseFetch(js.get(loaded, "format"), js.get(loaded, "source"))) onFetch();
      return loaded;
    },
  });
  closeLoader({
    folders: [rules.version, rules.packages],
    made: [SUBSTITUTE, REFUSED],
    base: `${rules.packages}_.js`,
    requireBuiltin: (name) => requireBuiltin(data, imports.needed, name, null),
  });
  return imports;
}

/**
 * Deno goes on with its own resolution where a hook throws, so there a module throws instead;
 * only for worker_threads it is the other way round (measured with 2.9.6).
 */
function refuse(specifier: string, error: unknown): ResolveFnOutput {
  if (!js.IS_DENO || specifier === "node:worker_threads") throw error;
  const url = REFUSED + js.encodeURIComponent(toMessage(error));
  return { url, format: "module", shortCircuit: true };
}

/** Deno runs JSON that a package requires as a script where a hook gives no format (measured with 2.9.6). */
function tellFormat(url: string, loaded: LoadFnOutput): LoadFnOutput {
  return js.IS_DENO && js.endsWith(url, ".json") ? { ...loaded, format: "json" } : loaded;
}

function toLoaded(source: string): LoadFnOutput {
  return { format: "module", source, shortCircuit: true };
}

/** Source text of modules that stand in place of others, null for files and the runtime's own. */
function sourceOf(url: string): string | null {
  if (js.startsWith(url, SUBSTITUTE)) {
    const name = js.slice(url, SUBSTITUTE.length);
    return substituteOf(name) ?? standInOf(name);
  }
  if (!js.startsWith(url, REFUSED)) return null;
  const message = js.stringify(js.decodeURIComponent(js.slice(url, REFUSED.length)));
  return `throw new Error(${message});\nexport default null;`;
}

/**
 * The file that imports is what it says it is only in the newer format, so no rule is wider for
 * some: what the program itself needs has been loaded before.
 */
function resolve(
  rules: Rules,
  specifier: string,
  context: ResolveHookContext,
  next: Next,
): ResolveFnOutput {
  const parent = context.parentURL;
  if (js.endsWith(specifier, ".node")) js.setAdd(rules.imports.addons, specifier);
  if (specifier === "flowhook") return next(rules.author, context);
  if (specifier === "valibot" && parent === rules.author) return next(specifier, context);
  if (isBuiltin(specifier)) return resolveBuiltin(rules, specifier, context, next);
  if (js.exec(SCHEME, specifier) !== null && !js.startsWith(specifier, FILE))
    throw new js.Error(describeUrl(specifier));
  const isPath = js.exec(PATH, specifier) !== null;
  const ofVersion = startsIn(parent, rules.version) || specifier === rules.entry;
  if (isPath) {
    const allowed = ofVersion ? rules.version : rules.packages;
    if (specifier !== rules.entry && !leadsInto(allowed, specifier, parent))
      throw outside(rules, specifier, allowed, "");
    const found = findFile(specifier, context, next);
    // "imports" of a package.json lead to modules of the runtime as well.
    if (js.startsWith(found.url, NODE)) return resolveBuiltin(rules, found.url, context, next);
    return inside(rules, specifier, found, allowed);
  }
  const from = ofVersion ? { ...context, parentURL: rules.base } : context;
  try {
    return inside(rules, specifier, next(specifier, from), rules.packages);
  } catch (error) {
    throw toPackageError(error, specifier, rules.data.spec.plugins_dir);
  }
}

/**
 * Whether a path leads into a folder, as either of the two module formats reads it: asked before
 * anything is looked for, so that no error tells what lies elsewhere.
 */
function leadsInto(folder: string, specifier: string, parent: string | undefined): boolean {
  if (js.startsWith(specifier, "#")) return true;
  if (js.startsWith(specifier, FILE)) return js.startsWith(toPath(specifier, undefined), folder);
  if (parent === undefined || !js.startsWith(parent, FILE)) return false;
  const url = toPath(specifier, parent);
  const path = resolvePath(dirname(fileURLToPath(parent)), specifier);
  return js.startsWith(url, folder) && js.startsWith(path, folder);
}

function findFile(specifier: string, context: ResolveHookContext, next: Next): ResolveFnOutput {
  try {
    return next(specifier, context);
  } catch (error) {
    const parent = context.parentURL;
    if (!isNotFound(error) || parent === undefined || !js.startsWith(parent, FILE)) throw error;
    const meant = findMeant(specifier, toPath(specifier, parent));
    if (meant !== null)
      throw new js.Error(
        `Cannot find "${specifier}": imports name the whole file, write "${meant}"`,
      );
    nameAsWritten(error, specifier, parent);
    throw error;
  }
}

/** A package has a stand-in for what its flow is not given; one that the flow imports itself is refused. */
function resolveBuiltin(
  rules: Rules,
  specifier: string,
  context: ResolveHookContext,
  next: Next,
): ResolveFnOutput {
  const { data, imports } = rules;
  const name = js.startsWith(specifier, NODE) ? js.slice(specifier, NODE.length) : specifier;
  const isPackage = startsIn(context.parentURL, rules.packages);
  const by = isPackage ? null : shownFile(rules, context.parentURL);
  const isReplaced = isPackage && hasStandIn(name) && !isGiven(data, name);
  if (!isReplaced) requireBuiltin(data, imports.needed, name, by);
  if (!isReplaced && substituteOf(name) === null) return next(specifier, context);
  return { url: SUBSTITUTE + name, format: "module", shortCircuit: true };
}

/** What was found must lie in the folder, symlinks resolved. */
function inside(
  rules: Rules,
  specifier: string,
  found: ResolveFnOutput,
  allowed: string,
): ResolveFnOutput {
  const path = js.startsWith(found.url, FILE) ? fileURLToPath(found.url) : "";
  if (!js.startsWith(path, allowed)) throw outside(rules, specifier, allowed, path);
  if (allowed !== rules.version) return found;
  js.setAdd(rules.imports.files, path);
  return { ...found, format: formatOf(path) };
}

function outside(rules: Rules, specifier: string, allowed: string, path: string): Error {
  const { plugins_dir } = rules.data.spec;
  if (allowed === rules.packages && isAbove(path, plugins_dir))
    return new js.Error(describeAbove(specifier, plugins_dir));
  return new js.Error(describeOutside(specifier, allowed === rules.packages, path !== ""));
}

function formatOf(path: string): string {
  const format = FORMATS[extname(path)];
  if (format !== undefined) return format;
  throw new js.Error(describeFile(path));
}

function startsIn(url: string | undefined, prefix: string): boolean {
  return url !== undefined && js.startsWith(url, FILE) && js.startsWith(fileURLToPath(url), prefix);
}

function shownFile(rules: Rules, url: string | undefined): string {
  if (url === undefined || !js.startsWith(url, FILE)) return "the flow";
  const path = fileURLToPath(url);
  return js.startsWith(path, rules.version) ? js.slice(path, rules.version.length) : path;
}

function folder(path: string): string {
  return path.endsWith(sep) ? path : path + sep;
}
