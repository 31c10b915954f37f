import { readFileSync as readFileSyncNow } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { sep as separator } from "node:path";
import { Script as ScriptNow } from "node:vm";
import * as js from "../shared/intrinsics.ts";
import { adviseOn, adviseOnSyntax } from "./import-advice.ts";
import type { Imports } from "./modules.ts";
import { OwnErrors } from "./own-errors.ts";
import type { FlowSpec } from "../shared/wire/protocol.ts";
import { relative, toMessage, valueOf, withPaths } from "./text.ts";

const readFileSync = readFileSyncNow;
const Script = ScriptNow;
const sep: string = separator;
// Not every runtime has it.
const strip = stripTypeScriptTypes as typeof stripTypeScriptTypes | undefined;

/** Of a flow that cannot be imported; `cause` is the error as it came. */
export const importErrors = new OwnErrors();

/** Deno hands over the error of a module as the text of another. */
const WRAPPED = /^(\w*Error): (.*)$/;
const CODE = /\.[mc]?[jt]s$/;
const PLACE = /^(\/.*|[A-Za-z]:.*):(\d+)$/;
const FRAME = /^\s+at (\/.*:\d+:\d+)$/;
const PACKAGES = "node_modules";
const CARET = /^\s*\^+\s*$/;

/** One line on why an import failed, behind file, line and column where code threw or is wrong. */
export function importError(
  error: unknown,
  spec: Pick<FlowSpec, "directory" | "plugins_dir">,
  imports: Imports,
): string {
  const { directory } = spec;
  const first = js.split(relative(toMessage(error), directory, []), "\n")[0] as string;
  const wrapped = js.exec(WRAPPED, first);
  const told = wrapped?.[2] ?? first;
  const message = adviseOn(told);
  if (valueOf(error, "name") !== "SyntaxError" && wrapped?.[1] !== "SyntaxError")
    return withOrigin(message, findOrigin(error, spec), imports);
  const at = placeOf(error) ?? findPlace(imports, told);
  if (at === null) return message;
  return `${relative(at, directory, [])}: ${adviseOnSyntax(message, characterAt(at))}`;
}

/** A package that lacks its addon tells of its own search for it. */
function withOrigin(message: string, origin: string | null, { addons }: Imports): string {
  if (origin === null) return message;
  const isPackage = js.startsWith(origin, `${PACKAGES}${sep}`);
  return `${origin}: ${message}${isPackage && js.setSize(addons) > 0 ? NO_ADDONS : ""}`;
}

const NO_ADDONS =
  ". It asks for a native addon, which no flow can load: use a package without one, " +
  "or one of WebAssembly";

const POSITION = /^(.*):(\d+):(\d+)$/;

/** The character at `file:line:column`; empty where there is none. */
function characterAt(place: string): string {
  const found = js.exec(POSITION, place);
  if (found === null) return "";
  try {
    const lines = js.split(readFileSync(found[1] as string, "utf8"), "\n");
    return lines[+(found[2] as string) - 1]?.[+(found[3] as string) - 1] ?? "";
  } catch {
    return "";
  }
}

/** `file:line:column` out of a stack that starts with the line and has a caret below it. */
function placeOf(error: unknown): string | null {
  const lines = js.split(stackOf(error), "\n");
  const paths = js.exec(PLACE, lines[0] as string);
  if (paths === null) return js.firstOf(lines, (line) => js.exec(FRAME, line)?.[1] ?? null);
  const place = `${paths[1]}:${paths[2]}`;
  const caret = js.find(lines, (line) => js.exec(CARET, line) !== null);
  return caret === undefined ? place : `${place}:${js.indexOf(caret, "^") + 1}`;
}

const STEP = /^\s+at /;

/** Where code of the flow or of a package threw; null where none did. */
function findOrigin(
  error: unknown,
  { directory, plugins_dir }: Pick<FlowSpec, "directory" | "plugins_dir">,
): string | null {
  return js.firstOf(js.split(stackOf(error), "\n"), (line) => {
    if (js.exec(STEP, line) === null) return null;
    return placeBelow(line, directory, "") ?? placeBelow(line, plugins_dir, `${PACKAGES}${sep}`);
  });
}

/** The program's own files may lie in a folder below `PLUGINS_DIR`, or beside it with a longer name. */
function placeBelow(line: string, directory: string, within: string): string | null {
  const start = js.indexOf(line, `${directory}${sep}${within}`);
  if (start < 0) return null;
  const place = js.slice(line, start + directory.length + sep.length);
  return js.endsWith(place, ")") ? js.slice(place, 0, -1) : place;
}

function stackOf(error: unknown): string {
  const stack = valueOf(error, "stack");
  return typeof stack === "string" ? withPaths(stack) : "";
}

/** The engine does not tell where a module's syntax is wrong. */
function findPlace({ files }: Imports, told: string): string | null {
  const code: string[] = [];
  js.setForEach(files, (file) => {
    if (js.exec(CODE, file) !== null) js.push(code, file);
  });
  const only = code.length === 1 ? (code[0] as string) : null;
  return js.firstOf(code, (file) => placeIn(file, told)) ?? only;
}

/** Of a fault that the parser for types finds, or of this one where a script has it too. */
function placeIn(file: string, told: string): string | null {
  let text = readFileSync(file, "utf8");
  try {
    if (strip !== undefined) text = strip(text, { sourceUrl: file });
  } catch (error) {
    return placeOf(error);
  }
  try {
    new Script(toScript(text), { filename: file, lineOffset: -1 });
  } catch (error) {
    if (toMessage(error) === told) return placeOf(error);
  }
  return null;
}

const IMPORT = /^\s*import\b(?!\s*[.(])/;
const REEXPORT = /^\s*export\s*[{*]/;
const DEFAULT = /^export default /;
const EXPORT = /^export (?=async|class|const|function|let|var)/;

/**
 * The engine tells the place of a wrong script, and none of a wrong module: so a module is made a
 * script, with each line and column where it was, below one line too many.
 */
function toScript(module: string): string {
  const lines = js.split(module, "\n");
  const kept: string[] = [`(async () => { "use strict";`];
  let isInList = false;
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] as string;
    const isLeftOut =
      isInList || js.exec(IMPORT, line) !== null || js.exec(REEXPORT, line) !== null;
    js.push(kept, isLeftOut ? "" : withoutExport(line));
    if (isLeftOut) isInList = !js.includes(line, "}") && (isInList || js.includes(line, "{"));
  }
  js.push(kept, "})");
  return js.join(kept, "\n");
}

function withoutExport(line: string): string {
  if (js.exec(DEFAULT, line) !== null)
    return `_ =            ${js.slice(line, "export default ".length)}`;
  return js.exec(EXPORT, line) === null ? line : `       ${js.slice(line, "export ".length)}`;
}
