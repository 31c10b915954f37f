import { existsSync as existsSyncNow, lstatSync as lstatSyncNow } from "node:fs";
import { fileURLToPath as fileURLToPathNow } from "node:url";
import * as js from "../shared/intrinsics.ts";
import { toMessage } from "./text.ts";

/** What an author is to write instead of what cannot be imported. */

const existsSync = existsSyncNow;
const lstatSync = lstatSyncNow;
const fileURLToPath = fileURLToPathNow;
const WebUrl = URL;

/** A message of the runtime that has an advice. */
interface Mistake {
  readonly message: RegExp;
  /** What follows the message. */
  readonly advice: string | ((found: RegExpExecArray) => string);
}

const FILE_OF_ITS_OWN = "put what is in it into a file of its own, and export it there";

const MISTAKES: readonly Mistake[] = [
  {
    message: /'([^']+)' does not provide an export named '([^']+)'/,
    advice: ({ 1: module = "", 2: name = "" }) => `. ${adviseOnExport(module, name)}`,
  },
  {
    message: /^Export '([^']+)' is not defined in module$/,
    advice: ({ 1: name }) => `. Where that is a type, write: export type { ${name} }`,
  },
  {
    message: /^Cannot access '[^']+' before initialization$/,
    advice: ". Where files import each other, put what both use into a third",
  },
  {
    message: /needs an import attribute of "type: json"$/,
    advice: '. Write: import NAME from "./FILE.json" with { type: "json" }',
  },
  {
    message: /Identifier '\.default' has/,
    advice: ". A file has one default export: remove the others",
  },
  unerasable(
    /TypeScript enum is not/,
    'write a constant: const Colour = { Red: "red" } as const, and its type: ' +
      "type Colour = (typeof Colour)[keyof typeof Colour]",
  ),
  unerasable(
    /parameter property is not/,
    "declare the field in the class, and set it in the constructor",
  ),
  unerasable(/namespace declaration is not/, FILE_OF_ITS_OWN),
  unerasable(/`module` keyword is not/, FILE_OF_ITS_OWN),
  unerasable(/import equals declaration is not/, 'write: import NAME from "MODULE"'),
  unerasable(/export assignment is not/, "write: export default"),
];

function unerasable(message: RegExp, instead: string): Mistake {
  return { message, advice: `: types are erased, and nothing else; ${instead}` };
}

/** What stands where a syntax is wrong: neither the engine nor the parser for types names a decorator. */
export function adviseOnSyntax(message: string, found: string): string {
  if (found !== "@") return message;
  return (
    `${message}. Decorators are no part of the JavaScript that runs here; call the function ` +
    "instead: const Shown = decorate(class { ... })"
  );
}

/** The message of a failed import, with what to write instead where that is known. */
export function adviseOn(told: string): string {
  const advised = js.firstOf(MISTAKES, ({ message, advice }) => {
    const found = js.exec(message, told);
    if (found === null) return null;
    return told + (typeof advice === "string" ? advice : advice(found));
  });
  return advised ?? told;
}

const ALMOST_DEFINE = /^(?:define|create|make)_?flows?$/i;

function adviseOnExport(module: string, name: string): string {
  if (module === "flowhook" && js.exec(ALMOST_DEFINE, name) !== null)
    return "Did you mean defineFlow?";
  if (module === "flowhook" && name !== "default")
    return `It has defineFlow and v. Where ${name} is a type, write: import type { ${name} } from "flowhook"`;
  if (name === "default") return "Import what it has by name, or give it a default export";
  return `Where that is a type, write: import type { ${name} } from "${module}"`;
}

/** By the extensions of files that are neither code nor JSON; the last one is for all. */
const OTHER_FILES: readonly { readonly extension: RegExp; readonly instead: string }[] = [
  { extension: /\.[cm]?tsx?$/i, instead: "rename it to .ts" },
  { extension: /\.[cm]?jsx?$/i, instead: "rename it to .js" },
  {
    extension: /\.(?:json5|jsonc|ya?ml|toml)$/i,
    instead: 'write it as .json, and import it with { type: "json" }',
  },
  {
    extension: /\.wasm$/i,
    instead:
      "put its bytes into a .ts file as base64, and compile them there: " +
      'new WebAssembly.Module(Buffer.from("...", "base64"))',
  },
  { extension: /$/, instead: "put its text into a .ts file: export default `...`" },
];

/** Why a file of the flow's folder cannot be imported. */
export function describeFile(path: string): string {
  const other = js.find(OTHER_FILES, ({ extension }) => js.exec(extension, path) !== null);
  return (
    `Cannot import "${path}": flows import .ts, .mts, .js, .mjs, .cjs and .json files; ` +
    `${other?.instead}`
  );
}

/** What does what a module is for, of those that no flow is given. Empty where nothing is known. */
export function adviseOnBuiltin(name: string): string {
  if (name !== "child_process") return "";
  return '. Something else starts programs: flowhook docs recipes, "Start a program"';
}

const REGISTRY = /^(npm|jsr):\/?((?:@[^/@]+\/)?[^/@]+)/;

/** Why a specifier with a scheme cannot be imported. */
export function describeUrl(specifier: string): string {
  const shown = js.slice(specifier, 0, 100);
  if (js.startsWith(specifier, "node:"))
    return `Cannot import "${shown}" in a flow: it is no module of Node that flows are given`;
  const message = `Cannot import "${shown}": flows import files and packages, not URLs`;
  const found = js.exec(REGISTRY, specifier);
  if (found !== null) {
    const command = found[1] === "npm" ? "npm install --prefix ." : "npx jsr add";
    const name = found[2] as string;
    return `${message}; run "${command} ${name}" in PLUGINS_DIR, and import "${name}"`;
  }
  if (js.exec(REMOTE, specifier) === null) return message;
  return `${message}; install its package in PLUGINS_DIR/node_modules, or save it beside the flow`;
}

const REMOTE = /^https?:/;

const ENDINGS = [".ts", ".mts", ".js", ".mjs", ".cjs", ".json", "/index.ts", "/index.js"];
const ENDINGS_OF_FOLDER = ["index.ts", "index.js"];
const JS_ENDING = /\.(m?)js$/;

/**
 * How the specifier of a file that is not there was meant: with an extension, or with that of
 * TypeScript.
 *
 * @param path that it leads to
 */
export function findMeant(specifier: string, path: string): string | null {
  const found = js.exec(JS_ENDING, path);
  if (found !== null) {
    const { length } = found[0];
    const ending = `.${found[1]}ts`;
    if (existsSync(js.slice(path, 0, -length) + ending))
      return js.slice(specifier, 0, -length) + ending;
  }
  const endings = js.endsWith(specifier, "/") ? ENDINGS_OF_FOLDER : ENDINGS;
  const ending = js.find(endings, (ending) => existsSync(path + ending));
  return ending === undefined ? null : specifier + ending;
}

const PACKAGE = /^(?:@[^/]+\/)?[^./@][^/]*/;

/**
 * Why what lies elsewhere cannot be imported.
 *
 * @param packages their folder, with a separator at its end; null: a file is imported, no package
 */
export function describeOutside(specifier: string, packages: string | null): string {
  const message = `Cannot import "${specifier}": it is outside`;
  if (packages === null)
    return (
      `${message} the folder of the flow; it imports what lies in PLUGINS_DIR, ` +
      'by a path from its own file, such as "./prices.ts"'
    );
  return `${message} PLUGINS_DIR/node_modules${adviseOnLink(packages, specifier)}`;
}

/** Of a package that npm links, because a folder was installed. Empty for others. */
function adviseOnLink(packages: string, specifier: string): string {
  const name = js.exec(PACKAGE, specifier)?.[0];
  try {
    if (name === undefined || !lstatSync(packages + name).isSymbolicLink()) return "";
  } catch {
    return "";
  }
  return ". It is a link there: put a copy in its place in PLUGINS_DIR with npm install --prefix . --install-links /path/to/it";
}

/**
 * Of a file that is not there, the runtime names where the specifier leads to. It stays the
 * runtime's error: who asks for what may be missing looks at its code.
 */
export function nameAsWritten(error: object, specifier: string, parent: string): void {
  if (js.get(error, "code") !== "ERR_MODULE_NOT_FOUND") return;
  const name = js.slice(specifier, 0, 100);
  const value = `Cannot find module '${name}' imported from ${toPath(parent, undefined)}`;
  js.defineProperty(error, "message", { __proto__: null, value } as PropertyDescriptor);
}

/**
 * Where a specifier leads to.
 *
 * @throws {Error} where it can be that of no file: another host, a wrong escape
 */
export function toPath(specifier: string, parent: string | undefined): string {
  try {
    return fileURLToPath(new WebUrl(specifier, parent));
  } catch (error) {
    const why = toMessage(error);
    throw new js.Error(
      `Cannot import "${js.slice(specifier, 0, 100)}": it can be no file (${why})`,
    );
  }
}
