import { findTooDeep, isJson } from "../../shared/json-text.ts";
import { MAX_DEPTH } from "../../shared/wire/protocol.ts";

/** A value that a flow returned, or gave an operation, to be checked. */
export interface ValueJob {
  /** JSON, if it is what it should be. */
  readonly text: string;
  readonly mostBytes: number;
}

/** Values up to this size are checked in the HTTP loop, in characters. */
const AT_ONCE = 256 * 1024;

export function isCheckedAtOnce({ text }: ValueJob): boolean {
  return text.length <= AT_ONCE;
}

/** Why a value is not taken: larger or deeper than it may be, or no JSON; null: it is. */
export function findValueError({ text, mostBytes }: ValueJob): string | null {
  const bytes = Buffer.byteLength(text);
  if (bytes > mostBytes) return `Found ${bytes} bytes, expected at most ${mostBytes}`;
  if (findTooDeep(text, MAX_DEPTH) >= 0) return `It nests deeper than ${MAX_DEPTH} levels`;
  return isJson(text) ? null : "It is no JSON";
}
