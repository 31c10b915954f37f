import { exec, join, push, slice } from "../shared/intrinsics.ts";
import { linesOf } from "./text.ts";

/**
 * The engine tells the place of a wrong script, and none of a wrong module: so a module is made a
 * script, with each line and column where it was.
 */

const IMPORT = /^\s*import\b(?!\s*[.(])/;
const REEXPORT = /^\s*export\s*[{*]/;
const DEFAULT = /^export default /;
const EXPORT = /^export (?=async|class|const|function|let|var)/;

/** The first line is one too many. */
export function toScript(module: string): string {
  const lines = linesOf(module);
  const kept: string[] = [`(async () => { "use strict";`];
  for (let at = 0; at < lines.length; at += 1) push(kept, withoutModule(lines[at] as string));
  push(kept, "})");
  return join(kept, "\n");
}

function withoutModule(line: string): string {
  if (exec(IMPORT, line) !== null || exec(REEXPORT, line) !== null) return "";
  if (exec(DEFAULT, line) !== null)
    return `_ =            ${slice(line, "export default ".length)}`;
  return exec(EXPORT, line) === null ? line : `       ${slice(line, "export ".length)}`;
}
