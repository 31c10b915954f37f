import { types } from "node:util";
import {
  Error,
  String,
  get,
  getOwnPropertyDescriptor,
  includes,
  keys,
  push,
  stringify,
} from "../shared/intrinsics.ts";
import type { FlowLog } from "./flow-log.ts";
import { linesOf, shown, toMessage } from "./text.ts";

/** The JSON text of what a run returned, and what its author is told where that is not what was meant. */

const { isNativeError } = types;
const { toStringTag } = Symbol;

/**
 * What JSON writes as `{}` and hardly anybody means is a warning of the log.
 *
 * @throws {Error} where JSON cannot say it, naming the member
 */
export function toResultText(value: unknown, log: FlowLog): string {
  let text: unknown;
  try {
    text = stringify(value);
  } catch (error) {
    throw unsaid(value, error);
  }
  if (typeof text !== "string")
    throw new Error(`The flow's result cannot be written as JSON: it is ${shown(value)}`);
  if (text.length <= LONGEST_LOOKED_INTO && includes(text, "{}")) warnOfLost(value, log);
  return text;
}

/** In characters: whoever returns more is not to wait for a warning. */
const LONGEST_LOOKED_INTO = 65_536;

/** The engine's own errors have a place that is ours; what the flow threw keeps its stack. */
function unsaid(value: unknown, error: unknown): Error {
  const reason = reasonOf(error);
  const found = includes(reason, "BigInt")
    ? find(value, describeBigInt)
    : includes(reason, "circular")
      ? find(value, describeCircle)
      : null;
  const message = `The flow's result cannot be written as JSON: ${found ?? reason}`;
  return found === null ? new Error(message, { cause: error }) : new Error(message);
}

function reasonOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "a toJSON method threw";
  const reason = linesOf(toMessage(error))[0] as string;
  return reason === STACK_IS_FULL ? `it nests too deep (${reason})` : reason;
}

/** What the engine says where a value nests deeper than it can follow. */
const STACK_IS_FULL = "Maximum call stack size exceeded";

function warnOfLost(value: unknown, log: FlowLog): void {
  const found = find(value, describeLost);
  if (found !== null) log.write("warn", [`Of the flow's result, ${found}`]);
}

/** What to say of a value below some others; null: it is not looked for. */
type Describe = (value: unknown, above: readonly object[]) => string | null;

function describeBigInt(value: unknown): string | null {
  return typeof value === "bigint" ? "is a BigInt: give String() of it" : null;
}

function describeCircle(value: unknown, above: readonly object[]): string | null {
  for (let at = 0; at < above.length; at += 1)
    if (above[at] === value) return "leads back to a value that it is inside of (circular)";
  return null;
}

function describeLost(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return null;
  const type: unknown = isNativeError(value) ? "Error" : get(value, toStringTag);
  const advice = adviseOn(type);
  return advice === null ? null : `is written as {} (${String(type)}): ${advice}`;
}

function adviseOn(type: unknown): string | null {
  switch (type) {
    case "Promise":
      return "await it";
    case "Response":
      return "answer with flow.webhook_response, or export a fetch handler";
    case "Map":
    case "Headers":
    case "FormData":
    case "URLSearchParams":
      return "give Object.fromEntries() of it";
    case "Set":
      return "give Array.from() of it";
    case "Error":
      return "give its message";
    default:
      return null;
  }
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
  if (isObject && typeof get(value, "toJSON") === "function") return null;
  const said = on.describe(value, on.above);
  if (said !== null) return `${path === "" ? "all of it" : `'${path}'`} ${said}`;
  return isObject && on.above.length < DEEPEST ? walkMembers(on, value, path) : null;
}

function walkMembers(on: Walk, value: object, path: string): string | null {
  push(on.above, value);
  const names = keys(value);
  for (let at = 0; at < names.length && on.visited < MOST_VISITED; at += 1) {
    const name = names[at] as string;
    // A getter would run once more.
    const member: unknown = getOwnPropertyDescriptor(value, name)?.value;
    const found = walk(on, member, path === "" ? name : `${path}.${name}`);
    if (found !== null) return found;
  }
  on.above.length -= 1;
  return null;
}
