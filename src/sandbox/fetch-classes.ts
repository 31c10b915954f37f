import * as js from "../shared/intrinsics.ts";

/**
 * The classes of `fetch`. Node makes them when one of them is first used, and loads all of its own
 * that speaks HTTP for them: a third of a thread's start. Most flows name none of them, and
 * their threads do without.
 */

/** Without the two that need the network: where it was granted, `fetch` is likely to be used. */
export const FETCH_CLASSES = [
  "FormData",
  "Headers",
  "Request",
  "Response",
  "MessageEvent",
  "CloseEvent",
  "ErrorEvent",
] as const;

/**
 * Their names, and whatever else may lead to them: all that is global as one object, code that is
 * made of texts (`constructor`, where it is no class's own), and what tells of itself by such an
 * event or stream.
 */
const NAMED =
  /fetch|FormData|Headers|Request|Response|MessageEvent|CloseEvent|ErrorEvent|WebSocket|EventSource|MessageChannel|MessagePort|transfer|Streaming\b|global|\bself\b|\beval\b|Function\b|\.\s*constructor\b|\bconstructor\b(?!\s*\()|getBuiltinModule/;

const GLOBAL = globalThis;
const { isBuffer } = Buffer;
/** Node's fetch keeps here what it sends with, from when its classes were made. */
const DISPATCHER = Symbol.for("undici.globalDispatcher.1");

/** Whether a module leads to one of them, as far as its text tells; true where it does not. */
export function mayUseFetch(format: unknown, source: unknown): boolean {
  if (format === "json") return false;
  // In others a bare `this` is all that is global, and a text without the names may lead to them.
  if (format !== "module" && format !== "module-typescript") return true;
  if (typeof source === "string") return js.exec(NAMED, source) !== null;
  if (!isBuffer(source)) return true;
  return js.exec(NAMED, js.toUtf8(source, "utf8", 0, source.length)) !== null;
}

/** Whether they are there, whoever was the first to use them. */
export function hasFetchClasses(): boolean {
  return js.IS_DENO || js.hasOwn(GLOBAL, DISPATCHER);
}
