import { formatWithOptions, inspect, types } from "node:util";
import { MAX_TEXT } from "../runner/protocol.ts";

/**
 * Texts for people out of values that a flow made: any of them may have getters that throw,
 * proxies, or megabytes in it, so nothing here throws and everything is cut.
 */

const INSPECT = { depth: 4, maxArrayLength: 50, maxStringLength: MAX_TEXT, breakLength: 120 };
const CUT = " … (cut)";

/** At most MAX_TEXT characters, without half a surrogate pair at the cut. */
export function cut(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  return text.slice(0, MAX_TEXT - CUT.length).toWellFormed() + CUT;
}

/** What `console.log` would print. */
export function format(values: readonly unknown[]): string {
  const only = values[0];
  if (values.length === 1 && typeof only === "string") return cut(only);
  try {
    return cut(formatWithOptions(INSPECT, ...values));
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
  if (types.isProxy(thrown)) return "The flow threw a proxy";
  const message = member(thrown, "message");
  if (message !== null && message !== "") return cut(message);
  if (types.isNativeError(thrown)) return cut(member(thrown, "name") ?? "Error");
  return cut(`The flow threw ${format([thrown])}`);
}

/** The stack with its causes. */
export function toStack(thrown: unknown): string {
  return types.isNativeError(thrown) ? format([thrown]) : toMessage(thrown);
}

/** Paths relative to the version folder; frames of the runtime and of the program left out. */
export function relative(text: string, directory: string, hidden: readonly string[]): string {
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    if (!isForeign(line, hidden)) lines.push(line);
    // The bracket that opens the error's own members stands at the end of its last frame.
    else if (line.endsWith(" {")) lines.push(`${lines.pop() ?? ""} {`);
  }
  const folder = `${directory.replace(/[\\/]$/, "")}/`;
  return lines.join("\n").replaceAll(`file://${folder}`, "").replaceAll(folder, "");
}

function isForeign(line: string, hidden: readonly string[]): boolean {
  if (!/^\s+at /.test(line)) return false;
  return /\bnode:[a-z]/.test(line) || hidden.some((folder) => line.includes(folder));
}

function member(from: object, name: string): string | null {
  try {
    const value: unknown = Reflect.get(from, name);
    return typeof value === "string" ? value : null;
  } catch {
    return null;
  }
}

/** For messages about a value that is wrong: short, and without running its code. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
  if (value === null || typeof value !== "object") return inspect(value).slice(0, 40);
  return Array.isArray(value) ? "a list" : "an object";
}
