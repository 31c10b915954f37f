import { readFileSync as readFileSyncNow } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { sep as separator } from "node:path";
import { Script as ScriptNow } from "node:vm";
import {
  Error,
  endsWith,
  exec,
  get,
  includes,
  indexOf,
  join,
  push,
  setForEach,
  slice,
} from "../shared/intrinsics.ts";
import { adviseOn, adviseOnSyntax } from "./import-advice.ts";
import { toScript } from "./module-script.ts";
import type { Imports } from "./modules.ts";
import type { FlowSpec } from "../shared/wire/protocol.ts";
import { linesOf, relative, toMessage, toStack } from "./text.ts";

const readFileSync = readFileSyncNow;
const Script = ScriptNow;
const sep: string = separator;
// Not every runtime has it.
const strip = stripTypeScriptTypes as typeof stripTypeScriptTypes | undefined;

/** A flow that cannot be imported; `cause` is the error as it came. */
export class ImportError extends Error {}

/** Deno hands over the error of a module as the text of another. */
const WRAPPED = /^(\w*Error): (.*)$/;
const CODE = /\.[mc]?[jt]s$/;
const PLACE = /^(?:file:\/\/)?(\/.*|[A-Za-z]:.*):(\d+)$/;
const FRAME = /^\s+at (?:file:\/\/)?(\/.*:\d+:\d+)$/;
const PACKAGES = "node_modules";
const CARET = /^\s*\^+\s*$/;

/** One line on why an import failed; an error of syntax or of a package names file, line and column. */
export function importError(
  error: unknown,
  { directory, plugins_dir }: Pick<FlowSpec, "directory" | "plugins_dir">,
  imports: Imports,
): string {
  const first = linesOf(relative(toMessage(error), directory, []))[0] as string;
  const wrapped = exec(WRAPPED, first);
  const message = adviseOn(wrapped === null ? first : (wrapped[2] as string));
  if (nameOf(error) !== "SyntaxError" && wrapped?.[1] !== "SyntaxError") {
    const place = findInPackages(error, directory, plugins_dir);
    return place === null ? message : `${place}: ${message}`;
  }
  const told = wrapped === null ? first : (wrapped[2] as string);
  const at = placeOf(error) ?? findPlace(imports, told);
  if (at === null) return message;
  return `${relative(at, directory, [])}: ${adviseOnSyntax(message, characterAt(at))}`;
}

const POSITION = /^(.*):(\d+):(\d+)$/;

/** The character at `file:line:column`; empty where there is none. */
function characterAt(place: string): string {
  const found = exec(POSITION, place);
  if (found === null) return "";
  try {
    const lines = linesOf(readFileSync(found[1] as string, "utf8"));
    return lines[+(found[2] as string) - 1]?.[+(found[3] as string) - 1] ?? "";
  } catch {
    return "";
  }
}

function nameOf(error: unknown): unknown {
  try {
    return typeof error === "object" && error !== null ? get(error, "name") : null;
  } catch {
    return null;
  }
}

/** `file:line:column` out of a stack that starts with the line and has a caret below it. */
function placeOf(error: unknown): string | null {
  const lines = linesOf(stackOf(error));
  const paths = exec(PLACE, lines[0] as string);
  if (paths === null) return firstFrame(lines);
  for (let at = 1; at < lines.length; at += 1) {
    const line = lines[at] as string;
    if (exec(CARET, line) !== null) return `${paths[1]}:${paths[2]}:${indexOf(line, "^") + 1}`;
  }
  return `${paths[1]}:${paths[2]}`;
}

function firstFrame(lines: readonly string[]): string | null {
  for (let at = 0; at < lines.length; at += 1) {
    const frame = exec(FRAME, lines[at] as string);
    if (frame !== null) return frame[1] as string;
  }
  return null;
}

/** Where a package threw, from `node_modules` on; null where code of the flow did. */
function findInPackages(error: unknown, directory: string, plugins_dir: string): string | null {
  const lines = linesOf(stackOf(error));
  for (let at = 1; at < lines.length; at += 1) {
    const line = lines[at] as string;
    if (includes(line, directory)) return null;
    const start = indexOf(line, join([plugins_dir, PACKAGES, ""], sep));
    if (start < 0) continue;
    const place = slice(line, start + plugins_dir.length + sep.length);
    return endsWith(place, ")") ? slice(place, 0, -1) : place;
  }
  return null;
}

function stackOf(error: unknown): string {
  try {
    const stack: unknown = typeof error === "object" && error !== null ? get(error, "stack") : "";
    return typeof stack === "string" ? stack : "";
  } catch {
    return toStack(error);
  }
}

/** The engine does not tell where a module's syntax is wrong. */
function findPlace({ files }: Imports, told: string): string | null {
  const code: string[] = [];
  setForEach(files, (file) => {
    if (exec(CODE, file) !== null) push(code, file);
  });
  for (let at = 0; at < code.length; at += 1) {
    const place = placeIn(code[at] as string, told);
    if (place !== null) return place;
  }
  return code.length === 1 ? (code[0] as string) : null;
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
