import { readFileSync as readFileSyncNow } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { Error, exec, get, indexOf, push, setForEach } from "../shared/intrinsics.ts";
import { adviseOn } from "./import-advice.ts";
import type { Imports } from "./modules.ts";
import { linesOf, relative, toMessage, toStack } from "./text.ts";

const readFileSync = readFileSyncNow;
// Not every runtime has it.
const strip = stripTypeScriptTypes as typeof stripTypeScriptTypes | undefined;

/** A flow that cannot be imported; `cause` is the error as it came. */
export class ImportError extends Error {}

/** Deno hands over the error of a module as the text of another. */
const WRAPPED = /^(\w*Error): (.*)$/;
const CODE = /\.[mc]?[jt]s$/;
const PLACE = /^(?:file:\/\/)?(\/.*|[A-Za-z]:.*):(\d+)$/;
const FRAME = /^\s+at (?:file:\/\/)?(\/.*:\d+:\d+)$/;
const CARET = /^\s*\^+\s*$/;

/** One line on why an import failed; a syntax error names file, line and column. */
export function importError(error: unknown, directory: string, imports: Imports): string {
  const first = linesOf(relative(toMessage(error), directory, []))[0] as string;
  const wrapped = exec(WRAPPED, first);
  const message = adviseOn(wrapped === null ? first : (wrapped[2] as string));
  if (nameOf(error) !== "SyntaxError" && wrapped?.[1] !== "SyntaxError") return message;
  const at = placeOf(error) ?? findPaths(imports);
  return at === null ? message : `${relative(at, directory, [])}: ${message}`;
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

function stackOf(error: unknown): string {
  try {
    const stack: unknown = typeof error === "object" && error !== null ? get(error, "stack") : "";
    return typeof stack === "string" ? stack : "";
  } catch {
    return toStack(error);
  }
}

/** The engine does not tell where a module's syntax is wrong; the parser for types does. */
function findPaths(imports: Imports): string | null {
  if (strip === undefined) return null;
  const files: string[] = [];
  setForEach(imports.files, (file) => push(files, file));
  for (let at = 0; at < files.length; at += 1) {
    const file = files[at] as string;
    if (exec(CODE, file) === null) continue;
    try {
      strip(readFileSync(file, "utf8"), { sourceUrl: file });
    } catch (error) {
      return placeOf(error);
    }
  }
  return null;
}
