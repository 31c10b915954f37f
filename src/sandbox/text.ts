import { formatWithOptions, inspect as inspectNow, types } from "node:util";
import * as js from "../shared/intrinsics.ts";
import { MAX_TEXT } from "../shared/wire/protocol.ts";
import { plainError } from "./plain-error.ts";

/**
 * Texts for people out of values that a flow made: any of them may have getters that throw,
 * proxies, or megabytes in it, so nothing here throws and everything is cut.
 */

// What is imported by its name changes with what a flow does to the module that exports it.
const inspect = inspectNow;
const { isNativeError, isProxy } = types;
const { toStringTag } = Symbol;

const INSPECT = { depth: 4, maxArrayLength: 50, maxStringLength: MAX_TEXT, breakLength: 120 };
const formatAll = formatWithOptions.bind(undefined, INSPECT);
const CUT = " … (cut)";
/** Of what is printed, before its paths and frames are tidied: most of a stack goes then. */
const MAX_PRINTED = 16 * MAX_TEXT;
const HALF_PAIR = /[\uD800-\uDBFF]$/;

/** At most so many bytes of UTF-8, without half a surrogate pair at the cut. */
export function cut(text: string, most = MAX_TEXT): string {
  // A unit of a string has at most three bytes, so that short ones need no count.
  if (text.length * 3 <= most) return text;
  if (text.length <= most && js.byteLength(text) <= most) return text;
  const mostKept = most - js.byteLength(CUT);
  let kept = js.slice(text, 0, mostKept);
  for (;;) {
    const over = js.byteLength(kept) - mostKept;
    if (over <= 0) break;
    kept = js.slice(kept, 0, -js.floor((over + 2) / 3));
  }
  if (js.exec(HALF_PAIR, kept) !== null) kept = js.slice(kept, 0, -1);
  return js.toWellFormed(kept) + CUT;
}

/** What `console.log` would print; cut where it is far longer than a line. */
export function format(values: readonly unknown[]): string {
  const only = values[0];
  if (values.length === 1 && typeof only === "string") return cut(only, MAX_PRINTED);
  try {
    return cut(js.apply(formatAll, undefined, values), MAX_PRINTED);
  } catch {
    return formatApart(values);
  }
}

/** Where one of them cannot be printed, the others are. */
function formatApart(values: readonly unknown[]): string {
  let text = "";
  for (let at = 0; at < values.length; at += 1)
    text += (at === 0 ? "" : " ") + formatOne(values[at]);
  return cut(text, MAX_PRINTED);
}

function formatOne(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return inspect(value, INSPECT);
  } catch {
    return "(a value that cannot be printed)";
  }
}

/** The status message that a thrown value makes. */
export function toMessage(thrown: unknown): string {
  if (thrown === null || thrown === undefined) return `The flow threw ${thrown}`;
  if (typeof thrown === "string")
    return thrown === "" ? "The flow threw an empty text" : cut(thrown);
  if (typeof thrown !== "object" && typeof thrown !== "function")
    return cut(`The flow threw ${inspect(thrown)}`);
  if (isProxy(thrown)) return "The flow threw a proxy";
  const refused = adviseOnAccess(thrown);
  if (refused !== null) return refused;
  const message = member(thrown, "message");
  if (message !== null && message !== "") {
    const reason = message === FETCH_FAILED ? valueOf(thrown, "cause") : findSuppressed(thrown);
    return cut(withReason(message, reason));
  }
  if (isNativeError(thrown)) return cut(withReason(member(thrown, "name") ?? "Error", thrown));
  if (isResponse(thrown)) return THREW_RESPONSE;
  return cut(`The flow threw ${format([thrown])}`);
}

/** What `using` throws where ends of a block have failed says no error: the first is the innermost. */
function findSuppressed(thrown: object): unknown {
  let found = valueOf(thrown, "suppressed");
  for (let depth = 0; depth < MOST_SUPPRESSED; depth += 1) {
    const inner = isNativeError(found) ? valueOf(found, "suppressed") : null;
    if (!isNativeError(inner)) break;
    found = inner;
  }
  return found;
}

/** They may lead back to themselves. */
const MOST_SUPPRESSED = 100;

const THREW_RESPONSE =
  "The flow threw a Response: a fetch handler returns it, and run calls flow.webhook_response";

/** By its tag: to ask for the class would load it for all that have none. */
export function isResponse(value: object): boolean {
  return valueOf(value, toStringTag) === "Response";
}

/** What to say where a file of the flow's own folder was not found: it may be there, and no part of the version. */
export function adviseOnFile(thrown: unknown, directory: string): string | null {
  const code = valueOf(thrown, "code");
  const path = valueOf(thrown, "path");
  const isFile = code === "ENOENT" && typeof path === "string" && js.startsWith(path, directory);
  const message = code === "ERR_MODULE_NOT_FOUND" ? valueOf(thrown, "message") : null;
  const isModule = typeof message === "string" && js.includes(message, ` from ${directory}`);
  return isFile || isModule ? NOT_KEPT : null;
}

const NOT_KEPT =
  "of the flow's folder a version has only the files that its code names, each in one literal that " +
  'begins with ./ or ../, as in new URL("./page.html", import.meta.url)';

/** The runtime names a flag of its own. Which file it was is not the caller's to know: the log has it. */
function adviseOnAccess(thrown: object): string | null {
  if (valueOf(thrown, "code") !== "ERR_ACCESS_DENIED") return null;
  const permission = valueOf(thrown, "permission");
  if (permission === "FileSystemRead") return withPermission("read", "ALLOW_READ");
  return permission === "FileSystemWrite" ? withPermission("write", "ALLOW_WRITE") : null;
}

function withPermission(act: string, key: string): string {
  const line = `permissions: { ${act}: ["/path"] }`;
  return `Cannot ${act} a file without a permission: add ${line} to the flow, and the path to ${key} in the configuration; the log names the file`;
}

/** All that the runtime's fetch says itself: what was in its way is the error's cause. */
const FETCH_FAILED = "fetch failed";

/** With what an error says, or the first of several: one for each address of a host, for example. */
function withReason(message: string, error: unknown): string {
  if (!isNativeError(error)) return message;
  const errors = valueOf(error, "errors");
  const first: unknown = js.isArray(errors) ? valueOf(errors, "0") : null;
  const said = member(error, "message") || (isNativeError(first) && member(first, "message"));
  const reason = said || member(error, "code");
  return reason === null ? message : `${message}: ${js.split(reason, "\n")[0]}`;
}

/** The stack with its causes, and without what objects an error holds; to be cut once it is tidied. */
export function toStack(thrown: unknown): string {
  return isNativeError(thrown) ? formatError(thrown) : toMessage(thrown);
}

function formatError(error: Error): string {
  try {
    return cut(inspect(plainError(error), INSPECT), MAX_PRINTED);
  } catch {
    // Of a class that prints itself with what no copy has.
    return cut(member(error, "stack") ?? toMessage(error), MAX_PRINTED);
  }
}

/** Paths relative to the version folder; frames of the runtime and of the program left out. */
export function relative(text: string, directory: string, hidden: readonly string[]): string {
  const lines = js.split(text, "\n");
  let kept = "";
  for (let at = 0; at < lines.length; at += 1) {
    const line = withPaths(lines[at] as string);
    if (!isForeign(line, hidden)) kept += at === 0 ? line : `\n${line}`;
    // The bracket that opens the error's own members stands at the end of its last frame.
    else if (js.endsWith(line, " {")) kept += " {";
  }
  const end = directory[directory.length - 1];
  const folder = end === "/" || end === "\\" ? directory : `${directory}/`;
  return js.replaceAll(js.replaceAll(kept, `file://${folder}`, ""), folder, "");
}

const URL_OF_FILE = "file://";
const UP_TO_BLANK = /^\S*/;
const PLACE = /^\/.*:\d/;

/**
 * The text with paths where a stack has the URLs of places: in those, blanks and letters beyond
 * ASCII are escaped.
 */
export function withPaths(text: string): string {
  let kept = "";
  let start = 0;
  for (let at = js.indexOf(text, URL_OF_FILE); at >= 0; at = js.indexOf(text, URL_OF_FILE, start)) {
    const path = js.slice(text, at + URL_OF_FILE.length);
    const place = js.exec(UP_TO_BLANK, path)?.[0] ?? "";
    const isPlace = js.exec(PLACE, place) !== null;
    kept += js.slice(text, start, at) + (isPlace ? decoded(place) : URL_OF_FILE + place);
    start = at + URL_OF_FILE.length + place.length;
  }
  return kept + js.slice(text, start);
}

function decoded(text: string): string {
  try {
    return js.decodeURIComponent(text);
  } catch {
    return text;
  }
}

const FRAME = /^\s+at /;
const RUNTIME = /\bnode:[a-z]/;

function isForeign(line: string, hidden: readonly string[]): boolean {
  if (js.exec(FRAME, line) === null) return false;
  if (js.exec(RUNTIME, line) !== null) return true;
  return js.some(hidden, (folder) => js.includes(line, folder));
}

function member(from: object, name: string): string | null {
  const value = valueOf(from, name);
  return typeof value === "string" ? value : null;
}

/** A member of what may be an object; null where it is none, or the member throws. */
export function valueOf(from: unknown, name: PropertyKey): unknown {
  try {
    return js.get(from as object, name);
  } catch {
    return null;
  }
}

/** For messages about a value that is wrong: short, and without running its code. */
export function shown(value: unknown): string {
  if (typeof value === "string") return js.stringify(js.slice(value, 0, 40));
  if (value === null || typeof value !== "object") return js.slice(inspect(value), 0, 40);
  return js.isArray(value) ? "a list" : "an object";
}
