import { extname } from "node:path/posix";

/** Files that were meant as flows and are none: they are listed with what to change. */

const OTHER_EXTENSION = /\.(cjs|cts|jsx|tsx)$/;

/** Whether a file is code that cannot be a flow for its extension alone. */
export function hasOtherExtension(path: string): boolean {
  return OTHER_EXTENSION.test(path);
}

export function describeExtension(path: string): string {
  const ending = extname(path);
  const meant = ending.includes("t") ? ".ts" : ".js";
  const jsx = ending.endsWith("x") ? ", without JSX" : ", as an ES module";
  return `'${path}' is no flow: flows are .ts, .mts, .js and .mjs files. Rename it to '${meant}'${jsx}`;
}

const COMMON_JS = /\bmodule\.exports\b|^[ \t]*exports\.\w+\s*=/m;
const NAMED =
  /\bexport\s+(?:async\s+)?(?:function|const|let|var)\s+(run|fetch|handler|handle|main|flow|GET|POST)\b/;
const DEFINED = /\bexport\s+const\s+(\w+)\s*=\s*defineFlow\s*\(/;

/** What is made into a flow, and kept to itself. */
const IMPORTED = /\bfrom\s*["']flowhook["']/;
const CALLED = /\bdefineFlow\s*[(<]/;

/** The mark of UTF-16, read as UTF-8, where both of its bytes are none. */
const UTF_16 = /^\ufffd{2}/;

/** Why a file without a default export looks like a flow all the same; null where it does not. */
export function findMistake(text: string): string | null {
  if (UTF_16.test(text)) return "It is in UTF-16: save it as UTF-8";
  if (COMMON_JS.test(text))
    return "It has 'module.exports' and no default export: write 'export default' instead";
  const [, name] = DEFINED.exec(text) ?? NAMED.exec(text) ?? [];
  if (name !== undefined)
    return `It exports '${name}' by name and has no default export: write 'export default' instead`;
  if (!IMPORTED.test(text) || !CALLED.test(text)) return null;
  return "It calls 'defineFlow' and has no default export: write 'export default defineFlow(...)' instead";
}
