import { posix } from "node:path";

/**
 * A quote is not taken as read, so that one which ends a text may begin another. One that is escaped
 * begins none: each would be followed to the end of the text again.
 */
const LITERAL = /(?<!\\)(["'`])(?=(\.\.?\/(?:\\["'`$\\]|(?!\1)[^\\\r\n])*)\1)/g;

/** What stands before the literal of an import. */
const IMPORTING = /\b(?:from|import|require(?:\.resolve)?)\s*\(?\s*$/;
const LONGEST_BEFORE = 50;
/** How code finds what lies beside it, wherever that is named: by its own place, or by an import of a value. */
const BESIDE = /\bimport\.meta\b|\b__(?:dir|file)name\b|\b(?:import|require)\s*\(\s*[^\s"'`)]/;
/** Of a file that may be imported as code. */
export const CODE = /\.[cm]?[jt]sx?$/;

/** What a file of code names, relative to PLUGINS_DIR; whether it exists is not known. */
export interface NamedFiles {
  /** Code, which does no harm where it is too much, and what is imported. */
  readonly names: readonly string[];
  /** Of data that is named alone. */
  readonly data: readonly string[];
  /** Whether it finds what lies beside it: then what is named may be meant, in whichever file of the flow. */
  readonly findsBeside: boolean;
}

/**
 * Every relative path that a string literal of code names. This covers import, export from,
 * import() and new URL("./page.html", import.meta.url).
 *
 * @param path of the file with the code, relative to PLUGINS_DIR, as are those that are named
 */
export function namedBy(path: string, text: string): NamedFiles {
  const names = new Set<string>();
  const data = new Set<string>();
  for (const { 1: quote, 2: literal = "", index } of text.matchAll(LITERAL)) {
    if (quote === "`" && literal.includes("${")) continue;
    const isImport = IMPORTING.test(text.slice(Math.max(0, index - LONGEST_BEFORE), index));
    const plain = literal.replace(/\\(.)/g, "$1");
    for (const form of [plain, decoded(plain.replace(/[?#].*$/, ""))]) {
      for (const meant of meantBy(form)) {
        const named = posix.join(posix.dirname(path), meant);
        if (isOwn(named)) (isImport || CODE.test(named) ? names : data).add(named);
      }
    }
  }
  return { names: [...names], data: [...data], findsBeside: BESIDE.test(text) };
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
