import { existsSync as existsSyncNow, lstatSync as lstatSyncNow } from "node:fs";
import { fileURLToPath as fileURLToPathNow } from "node:url";
import {
  Error,
  defineProperty,
  endsWith,
  exec,
  get,
  includes,
  slice,
  startsWith,
} from "../shared/intrinsics.ts";
import { toMessage } from "./text.ts";

/** What an author is to write instead of what cannot be imported. */

const existsSync = existsSyncNow;
const lstatSync = lstatSyncNow;
const fileURLToPath = fileURLToPathNow;
const WebUrl = URL;

const NO_EXPORT = /'([^']+)' does not provide an export named '([^']+)'/;

const TOO_EARLY = /^Cannot access '[^']+' before initialization$/;

const NOT_DEFINED = /^Export '([^']+)' is not defined in module$/;

const NO_ATTRIBUTE = 'needs an import attribute of "type: json"';

interface Advice {
  readonly words: string;
  readonly instead: string;
}

const FILE_OF_ITS_OWN = "put what is in it into a file of its own, and export it there";

const UNERASABLE: readonly Advice[] = [
  {
    words: "TypeScript enum is not",
    instead:
      'write a constant: const Colour = { Red: "red" } as const, and its type: ' +
      "type Colour = (typeof Colour)[keyof typeof Colour]",
  },
  {
    words: "parameter property is not",
    instead: "declare the field in the class, and set it in the constructor",
  },
  { words: "namespace declaration is not", instead: FILE_OF_ITS_OWN },
  { words: "`module` keyword is not", instead: FILE_OF_ITS_OWN },
  { words: "import equals declaration is not", instead: 'write: import NAME from "MODULE"' },
  { words: "export assignment is not", instead: "write: export default" },
];

/** What stands where a syntax is wrong: neither the engine nor the parser for types names a decorator. */
export function adviseOnSyntax(message: string, found: string): string {
  if (found !== "@") return message;
  return (
    `${message}. Decorators are no part of the JavaScript that runs here; call the function ` +
    "instead: const Shown = decorate(class { ... })"
  );
}

/** The message of a failed import, with what to write instead where that is known. */
export function adviseOn(message: string): string {
  const noExport = exec(NO_EXPORT, message);
  if (noExport !== null)
    return `${message}. ${adviseOnExport(noExport[1] as string, noExport[2] as string)}`;
  const undefinedName = exec(NOT_DEFINED, message);
  if (undefinedName !== null)
    return `${message}. Where that is a type, write: export type { ${undefinedName[1] as string} }`;
  if (exec(TOO_EARLY, message) !== null)
    return `${message}. Where files import each other, put what both use into a third`;
  if (endsWith(message, NO_ATTRIBUTE))
    return `${message}. Write: import NAME from "./FILE.json" with { type: "json" }`;
  if (includes(message, "Identifier '.default' has"))
    return `${message}. A file has one default export: remove the others`;
  for (let at = 0; at < UNERASABLE.length; at += 1) {
    const { words, instead } = UNERASABLE[at] as Advice;
    if (includes(message, words))
      return `${message}: types are erased, and nothing else; ${instead}`;
  }
  return message;
}

function adviseOnExport(module: string, name: string): string {
  if (module === "flowhook" && name !== "default")
    return `It has defineFlow and v. Where ${name} is a type, write: import type { ${name} } from "flowhook"`;
  if (name === "default") return "Import what it has by name, or give it a default export";
  return `Where that is a type, write: import type { ${name} } from "${module}"`;
}

interface Advised {
  readonly endings: RegExp;
  readonly instead: string;
}

const OTHER_FILES: readonly Advised[] = [
  { endings: /\.[cm]?tsx?$/i, instead: "rename it to .ts" },
  { endings: /\.[cm]?jsx?$/i, instead: "rename it to .js" },
  {
    endings: /\.(?:json5|jsonc|ya?ml|toml)$/i,
    instead: 'write it as .json, and import it with { type: "json" }',
  },
  {
    endings: /\.wasm$/i,
    instead:
      "put its bytes into a .ts file as base64, and compile them there: " +
      'new WebAssembly.Module(Buffer.from("...", "base64"))',
  },
];

/** Why a file of the flow's folder cannot be imported that is neither code nor JSON. */
export function describeFile(path: string): string {
  return (
    `Cannot import "${path}": flows import .ts, .mts, .js, .mjs, .cjs and .json files; ` +
    adviseOnFile(path)
  );
}

function adviseOnFile(path: string): string {
  for (let at = 0; at < OTHER_FILES.length; at += 1) {
    const { endings, instead } = OTHER_FILES[at] as Advised;
    if (exec(endings, path) !== null) return instead;
  }
  return "put its text into a .ts file: export default `...`";
}

const REGISTRY = /^(npm|jsr):\/?((?:@[^/@]+\/)?[^/@]+)/;

/** Why a specifier with a scheme cannot be imported. */
export function describeUrl(specifier: string): string {
  const shown = slice(specifier, 0, 100);
  if (startsWith(specifier, "node:"))
    return `Cannot import "${shown}" in a flow: it is no module of Node that flows are given`;
  const message = `Cannot import "${shown}": flows import files and packages, not URLs`;
  const found = exec(REGISTRY, specifier);
  if (found !== null) {
    const command = found[1] === "npm" ? "npm install" : "npx jsr add";
    const name = found[2] as string;
    return `${message}; run "${command} ${name}" in PLUGINS_DIR, and import "${name}"`;
  }
  if (exec(REMOTE, specifier) === null) return message;
  return `${message}; install its package in PLUGINS_DIR/node_modules, or save it beside the flow`;
}

const REMOTE = /^https?:/;

const ENDINGS = [".ts", ".mts", ".js", ".mjs", ".cjs", ".json", "/index.ts", "/index.js"];
const JS_ENDING = /\.m?js$/;

/**
 * How the specifier of a file that is not there was meant: with an extension, or with that of
 * TypeScript.
 *
 * @param path that it leads to
 */
export function findMeant(specifier: string, path: string): string | null {
  const js = exec(JS_ENDING, path);
  if (js !== null) {
    const ending = js[0] === ".mjs" ? ".mts" : ".ts";
    if (existsSync(slice(path, 0, -js[0].length) + ending))
      return slice(specifier, 0, -js[0].length) + ending;
  }
  const isFolder = endsWith(specifier, "/");
  for (let at = 0; at < ENDINGS.length; at += 1) {
    const ending = ENDINGS[at] as string;
    if (isFolder && !startsWith(ending, "/")) continue;
    const name = isFolder ? slice(ending, 1) : ending;
    if (existsSync(path + name)) return specifier + name;
  }
  return null;
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
  const name = exec(PACKAGE, specifier)?.[0];
  try {
    if (name === undefined || !lstatSync(packages + name).isSymbolicLink()) return "";
  } catch {
    return "";
  }
  return ". It is a link there: put a copy in its place with npm install --install-links /path/to/it";
}

/**
 * Of a file that is not there, the runtime names where the specifier leads to. It stays the
 * runtime's error: who asks for what may be missing looks at its code.
 */
export function nameAsWritten(error: object, specifier: string, parent: string): void {
  if (get(error, "code") !== "ERR_MODULE_NOT_FOUND") return;
  const name = slice(specifier, 0, 100);
  const value = `Cannot find module '${name}' imported from ${toPath(parent, undefined)}`;
  defineProperty(error, "message", { __proto__: null, value } as PropertyDescriptor);
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
    throw new Error(`Cannot import "${slice(specifier, 0, 100)}": it can be no file (${why})`);
  }
}
