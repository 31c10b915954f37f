import { parseExactly } from "../../shared/parse-exactly.ts";
import type { JobOwner } from "../request/job-thread.ts";

/** A text and the pointer into it, as they cross to a thread. */
export interface PointerJob {
  readonly text: string;
  readonly pointer: string;
}

/** `findScalar` of what is large, elsewhere. */
export type FindLarge = (job: PointerJob, owner: JobOwner) => Promise<Scalar>;

export type Scalar = string | number | boolean | null | undefined;

/** What a pointer leads to; null for a list or an object, which is not passed between threads. */
export function findScalar({ text, pointer }: PointerJob): Scalar {
  const value = readPointer(text, pointer);
  return typeof value === "object" ? null : (value as Scalar);
}

/**
 * What a JSON pointer leads to (RFC 6901) in a JSON text.
 *
 * @returns undefined where there is nothing
 */
function readPointer(text: string, pointer: string): unknown {
  const names = pointer.split("/").slice(1).map(unescape);
  let value: unknown = parseExactly(text.startsWith("\uFEFF") ? text.slice(1) : text);
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
