import { existsSync as existsSyncNow } from "node:fs";
import { fileURLToPath as fileURLToPathNow } from "node:url";
import * as js from "../shared/intrinsics.ts";
import { toMessage } from "./text.ts";

/** What an author is to write instead of what cannot be imported. */

const existsSync = existsSyncNow;
const fileURLToPath = fileURLToPathNow;
const WebUrl = URL;

/** A message of the runtime that has an advice. */
interface Mistake {
  readonly message: RegExp;
  /** What follows the message. */
  readonly advice: string | ((found: RegExpExecArray) => string);
}

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
  {
    message: /^(?:TypeScript .*|`module` keyword) is not supported/,
    advice: ": types are erased, and nothing else (flowhook docs flows)",
  },
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
export function adviseOn(told: string): string {
  const advised = js.firstOf(MISTAKES, ({ message, advice }) => {
    const found = js.exec(message, told);
    if (found === null) return null;
    return (
      js.replaceAll(told, NAMESPACE, "") + (typeof advice === "string" ? advice : advice(found))
    );
  });
  return advised ?? told;
}

/** What the runtime says of `module`: it refuses that as well. */
const NAMESPACE = ". Use `namespace` instead.";

const ALMOST_DEFINE = /^(?:define|create|make)_?flows?$/i;

function adviseOnExport(module: string, name: string): string {
  if (module === "flowhook" && js.exec(ALMOST_DEFINE, name) !== null)
    return "Did you mean defineFlow?";
  if (module === "flowhook" && name !== "default")
    return `It has defineFlow and v. Where ${name} is a type, write: import type { ${name} } from "flowhook"`;
  if (name === "default") return "Import what it has by name, or give it a default export";
  return `Where that is a type, write: import type { ${name} } from "${module}"`;
}

/** Why a file of the flow's folder cannot be imported. */
export function describeFile(path: string): string {
  return (
    `Cannot import "${path}": flows import .ts, .mts, .js, .mjs, .cjs and .json files; ` +
    "put what it holds into a .ts or .json file"
  );
}

/** Why a specifier with a scheme cannot be imported. */
export function describeUrl(specifier: string): string {
  const shown = js.slice(specifier, 0, 100);
  if (js.startsWith(specifier, "node:"))
    return `Cannot import "${shown}" in a flow: it is no module of Node that flows are given`;
  const message = `Cannot import "${shown}": flows import files and packages, not URLs`;
  if (js.exec(PUBLISHED, specifier) === null) return message;
  return `${message}; install its package in PLUGINS_DIR/node_modules`;
}

const PUBLISHED = /^(?:npm|jsr|https?):/i;

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

/**
 * Why what lies elsewhere cannot be imported.
 *
 * @param isPackage whether packages alone were allowed
 * @param isFound whether it was looked for and found, as through a link
 */
export function describeOutside(specifier: string, isPackage: boolean, isFound: boolean): string {
  const message = `Cannot import "${specifier}": it is outside`;
  if (isPackage)
    return `${message} PLUGINS_DIR/node_modules${isFound ? "; install a copy there, not a link" : ""}`;
  return (
    `${message} the folder of the flow; it imports what lies in PLUGINS_DIR, ` +
    'by a path from its own file, such as "./prices.ts"'
  );
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
