import { types } from "node:util";
import { findTooDeep } from "../shared/json-text.ts";
import { MAX_DEPTH } from "../shared/wire/protocol.ts";
import * as js from "../shared/intrinsics.ts";
import type { FlowLog } from "./flow-log.ts";
import { cut, shown, toMessage } from "./text.ts";

/** The JSON text of what a flow gives, and what its author is told where that is not what was meant. */

const { isNativeError, isRegExp, isTypedArray } = types;
const { toStringTag } = Symbol;

/** Whose value it is, as messages name it. */
export type ValueOf =
  | "flow's result"
  | "flow's JSON response"
  | "input_value of start_execution"
  | "value of set_setting";

/**
 * What JSON writes as `{}` or `null` and hardly anybody means is a warning of the log.
 *
 * @throws {TypeError} where JSON cannot say it, naming the member, or it is too deep for others to read
 */
export function toValueText(value: unknown, what: ValueOf, log: Pick<FlowLog, "write">): string {
  let text: unknown;
  try {
    text = js.stringify(value);
  } catch (error) {
    throw unsaid(value, what, error);
  }
  if (typeof text !== "string")
    throw new js.TypeError(`The ${what} cannot be written as JSON: it is ${shown(value)}`);
  if (findTooDeep(text, MAX_DEPTH) >= 0)
    throw new js.TypeError(`The ${what} nests deeper than ${MAX_DEPTH} levels`);
  if (mayHaveLost(text)) {
    const found = find(value, describeLost);
    if (found !== null) log.write("warn", [`Of the ${what}, ${found}`]);
  }
  return text;
}

/** In characters: whoever gives more is not to wait for a warning. Many have a null that was meant. */
const [LONGEST_LOOKED_INTO, LONGEST_WITH_NULL] = [65_536, 1024];

/** What is empty, has a member for each of its bytes, or was no number of JSON. */
function mayHaveLost(text: string): boolean {
  if (text.length <= LONGEST_WITH_NULL && js.includes(text, "null")) return true;
  return (
    text.length <= LONGEST_LOOKED_INTO && (js.includes(text, "{}") || js.includes(text, '{"0":'))
  );
}

/** The engine's own errors have a place that is ours; what the flow threw keeps its stack. */
function unsaid(value: unknown, what: ValueOf, error: unknown): Error {
  const reason = reasonOf(error);
  const found = js.includes(reason, "BigInt")
    ? find(value, describeBigInt)
    : js.includes(reason, "circular")
      ? find(value, describeCircle)
      : null;
  const message = `The ${what} cannot be written as JSON: ${found ?? reason}`;
  return found === null ? new js.TypeError(message, { cause: error }) : new js.TypeError(message);
}

function reasonOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "a toJSON method threw";
  const reason = js.split(toMessage(error), "\n")[0] as string;
  return reason === STACK_IS_FULL ? `it nests too deep (${reason})` : reason;
}

/** What the engine says where a value nests deeper than it can follow. */
const STACK_IS_FULL = "Maximum call stack size exceeded";

/** What to say of a value below some others; null: it is not looked for. */
type Describe = (value: unknown, above: readonly object[]) => string | null;

function describeBigInt(value: unknown): string | null {
  return typeof value === "bigint" ? "is a BigInt: give String() of it" : null;
}

function describeCircle(value: unknown, above: readonly object[]): string | null {
  return js.contains(above, value) ? "leads back to a value that it is inside of (circular)" : null;
}

function describeLost(value: unknown): string | null {
  if (typeof value === "number" && !js.isFinite(value)) return `is written as null (${value})`;
  if (typeof value !== "object" || value === null) return null;
  const type = typeOf(value);
  if (type === null) return null;
  if (isTypedArray(value)) return `is written as an object of numbers (${type}): ${adviseOn(type)}`;
  return js.keys(value).length > 0 ? null : `is written as {} (${type}): ${adviseOn(type)}`;
}

/** The runtime's own objects have a name, and keep what they hold out of JSON; null: one of plain members. */
function typeOf(value: object): string | null {
  if (isNativeError(value)) return "Error";
  if (isRegExp(value)) return "RegExp";
  const type: unknown = js.get(value, toStringTag);
  return typeof type === "string" ? cut(type) : null;
}

const FROM_ENTRIES = "give Object.fromEntries() of it";
const BASE64 = 'give Buffer.from() of it, as toString("base64")';

/** By the names of the runtime's own objects. */
const ADVICE = {
  __proto__: null,
  Promise: "await it",
  Response: "answer with flow.webhook_response, or export a fetch handler",
  Map: FROM_ENTRIES,
  Headers: FROM_ENTRIES,
  FormData: FROM_ENTRIES,
  URLSearchParams: FROM_ENTRIES,
  AsyncGenerator: "give await Array.fromAsync() of it",
  Error: "give its message",
  RegExp: "give String() of it",
  Blob: "give await text() of it",
  File: "give await text() of it",
  Request: "give await text() of it",
  ArrayBuffer: BASE64,
  Uint8Array: BASE64,
} as unknown as Readonly<Record<string, string>>;

/** A Set, a Generator, an Array Iterator and a Float64Array give their values one by one. */
const ITERATED = /^(?:Set|Generator|.* Iterator|.*Array)$/;

function adviseOn(type: string): string {
  const advice = ADVICE[type];
  if (advice !== undefined) return advice;
  return js.exec(ITERATED, type) === null
    ? "give what is needed of it as texts, numbers, lists and objects"
    : "give Array.from() of it";
}

/** Where more is returned, it is not told where in it. */
const MOST_VISITED = 2000;
const DEEPEST = 100;

interface Walk {
  readonly describe: Describe;
  readonly above: object[];
  visited: number;
}

/** The first place of which there is something to say. Whatever the value is, nothing is thrown. */
function find(value: unknown, describe: Describe): string | null {
  try {
    return walk({ describe, above: [], visited: 0 }, value, "");
  } catch {
    return null;
  }
}

function walk(on: Walk, value: unknown, path: string): string | null {
  on.visited += 1;
  const isObject = typeof value === "object" && value !== null;
  // JSON has what the method gives.
  if (isObject && typeof js.get(value, "toJSON") === "function") return null;
  const said = on.describe(value, on.above);
  if (said !== null) return `${path === "" ? "all of it" : `'${path}'`} ${said}`;
  return isObject && on.above.length < DEEPEST ? walkMembers(on, value, path) : null;
}

function walkMembers(on: Walk, value: object, path: string): string | null {
  js.push(on.above, value);
  const names = js.keys(value);
  for (let at = 0; at < names.length && on.visited < MOST_VISITED; at += 1) {
    const name = names[at] as string;
    // A getter would run once more.
    const member: unknown = js.getOwnPropertyDescriptor(value, name)?.value;
    const found = walk(on, member, path === "" ? name : `${path}.${name}`);
    if (found !== null) return found;
  }
  on.above.length -= 1;
  return null;
}
