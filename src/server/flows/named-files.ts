import { posix } from "node:path";

/**
 * A quote is not taken as read, so that one which ends a text may begin another. One that is escaped
 * begins none: each would be followed to the end of the text again.
 */
const LITERAL = /(?<!\\)(["'`])(?=(\.\.?\/(?:\\["'`$\\]|(?!\1)[^\\\r\n])*)\1)/g;

/** What stands before the literal of an import. */
const IMPORTING = /\b(?:from|import|require)\s*\(?\s*$/;
const LONGEST_BEFORE = 50;
/** How code finds what lies beside it. */
const BESIDE = /\bimport\.meta\b|\b__(?:dir|file)name\b/;
const CODE = /\.[cm]?[jt]sx?$/;

/**
 * Every relative path that a string literal of code names. This covers import, export from,
 * import() and new URL("./page.html", import.meta.url). Code too many does no harm. A file of data
 * that is named alone is none of the flow's: with each write of it there would be a new version.
 *
 * @param path of the file with the code, relative to PLUGINS_DIR, as are those that are named
 */
export function namedBy(path: string, text: string): string[] {
  const names = new Set<string>();
  const findsBeside = BESIDE.test(text);
  for (const { 1: quote, 2: literal = "", index } of text.matchAll(LITERAL)) {
    if (quote === "`" && literal.includes("${")) continue;
    const before = text.slice(Math.max(0, index - LONGEST_BEFORE), index);
    const takesData = findsBeside || IMPORTING.test(before);
    const plain = literal.replace(/\\(.)/g, "$1");
    for (const form of [plain, decoded(plain.replace(/[?#].*$/, ""))]) {
      for (const meant of meantBy(form)) {
        const named = posix.join(posix.dirname(path), meant);
        if (isOwn(named) && (takesData || CODE.test(named))) names.add(named);
      }
    }
  }
  return [...names];
}

/** The file itself, and those that an import without an extension may mean, so that it can be told. */
function meantBy(form: string): string[] {
  if (form.endsWith("/")) return INDEXES.map((index) => form + index);
  const ending = posix.extname(form);
  if (ending === "") return [form, ...ENDINGS.map((other) => form + other)];
  if (ending !== ".js" && ending !== ".mjs") return [form];
  return [form, `${form.slice(0, -ending.length)}${ending.replace("j", "t")}`];
}

const INDEXES = ["index.ts", "index.js"];
const ENDINGS = [".ts", ".mts", ".js", ".mjs", ".cjs", ".json", "/index.ts", "/index.js"];

function isOwn(named: string): boolean {
  const parts = named.split("/");
  return parts[0] !== ".." && !parts.includes("node_modules");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
