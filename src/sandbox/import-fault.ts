import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import type { Imports } from "./modules.ts";
import { relative, toMessage } from "./text.ts";

// Not every runtime has it.
const strip = stripTypeScriptTypes as typeof stripTypeScriptTypes | undefined;

/** A flow that cannot be imported; `cause` is the error as it came. */
export class ImportFault extends Error {}

/** One line on why an import failed; a syntax error names file, line and column. */
export function importFault(error: unknown, directory: string, imports: Imports): string {
  const first = relative(toMessage(error), directory, []).split("\n")[0] ?? "";
  // Deno hands over the error of a module as the text of another.
  const wrapped = /^(\w*Error): (.*)$/.exec(first);
  const [, name, message] = wrapped ?? [null, "", first];
  if (!(error instanceof SyntaxError) && name !== "SyntaxError") return message ?? first;
  const at = placeOf(error) ?? findPlace(imports);
  return at === null ? (message ?? first) : `${relative(at, directory, [])}: ${message}`;
}

/** `file:line:column` out of a stack that starts with the line and has a caret below it. */
function placeOf(error: unknown): string | null {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const lines = stack.split("\n");
  const place = /^(?:file:\/\/)?(\/.*|[A-Za-z]:.*):(\d+)$/.exec(lines[0] ?? "");
  if (place === null) return /^\s+at (?:file:\/\/)?(\/.*:\d+:\d+)$/m.exec(stack)?.[1] ?? null;
  const caret = lines.slice(1).find((line) => /^\s*\^+\s*$/.test(line));
  return `${place[1]}:${place[2]}${caret === undefined ? "" : `:${caret.indexOf("^") + 1}`}`;
}

/** The engine does not tell where a module's syntax is wrong; the parser for types does. */
function findPlace(imports: Imports): string | null {
  if (strip === undefined) return null;
  for (const file of imports.files) {
    if (!/\.[mc]?[jt]s$/.test(file)) continue;
    try {
      strip(readFileSync(file, "utf8"), { sourceUrl: file });
    } catch (error) {
      return placeOf(error);
    }
  }
  return null;
}
