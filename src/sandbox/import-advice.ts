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
 * Of a package that lies elsewhere: npm links a folder that is installed. Empty for others.
 *
 * @param packages the folder of the packages, with a separator at its end
 */
export function adviseOnLink(packages: string, specifier: string): string {
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
