import { parseExactly, parseScalars } from "../../shared/parse-exactly.ts";
import type { JobOwner } from "../request/job-thread.ts";

/** A text and the pointer into it, as they cross to a thread. */
export interface PointerJob {
  readonly text: string;
  readonly pointer: string;
  /** Whether numbers are written as they were sent: not where another format was made JSON. */
  readonly hasOwnNumbers: boolean;
}

/** `findScalar` of what is large, elsewhere. */
export type FindLarge = (job: PointerJob, owner: JobOwner) => Promise<Scalar>;

export type Scalar = string | number | boolean | null | undefined;

/**
 * What a pointer leads to (RFC 6901) in a JSON text: a number that is not read exactly as it is
 * written there, because two of them would be one; null for a list or an object, which is not passed
 * between threads; undefined where there is nothing.
 */
export function findScalar({ text, pointer, hasOwnNumbers }: PointerJob): Scalar {
  const names = pointer.split("/").slice(1).map(unescape);
  const json = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const value = follow(parseExactly(json), names);
  if (hasOwnNumbers && typeof value === "number" && !isShort(value))
    return asWritten(json, names) ?? value;
  return typeof value === "object" ? null : (value as Scalar);
}

/** Others are read as their neighbours, or as Infinity. */
export function isExact(value: number): boolean {
  return Number.isSafeInteger(value) || isShort(value);
}

/** Whether no other number of as many digits is read as this one: 15 are always told apart. */
function isShort(value: number): boolean {
  return (
    Number.isFinite(value) && String(value).replace(/e.*$/, "").replaceAll(/\D/g, "").length <= 15
  );
}

function asWritten(json: string, names: readonly string[]): string | null {
  const found = follow(parseScalars(json, parseLong), names);
  return typeof found === "string" ? found : null;
}

/** Numbers that are not short are their texts. */
function parseLong(json: string): unknown {
  return JSON.parse(json, (_, one: unknown, context?: { source?: string }) =>
    typeof one === "number" && !isShort(one) ? context?.source : one,
  );
}

function follow(from: unknown, names: readonly string[]): unknown {
  let value = from;
  for (const name of names) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      return undefined;
    if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function unescape(name: string): string {
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}
