import type { LogLine } from "./wire/protocol.ts";

/** What a line of a stack begins with. */
const FRAME = "\n    at ";

/** Longer lines name no place; in UTF-16 units. */
const LONGEST = 500;

/** `file:line:column` at the end of a line, in brackets where a function has a name; ` {` begins its members. */
const PLACE = /^ {4}at (?:[^(]* \((?!eval at )(.+:\d+:\d+)\)|(?:async )?(.+:\d+:\d+))(?: \{)?$/;

/**
 * Where in a flow's files the newest error of these lines came from, `lib/order.ts:3:25`; null:
 * none of them has a stack. The lines are a flow's own, and may say anything.
 */
export function findPlace(lines: readonly Pick<LogLine, "level" | "text">[]): string | null {
  for (const { level, text } of lines.toReversed()) {
    const start = level === "error" ? text.indexOf(FRAME) : -1;
    if (start < 0) continue;
    const [frame = ""] = text.slice(start + 1, start + 1 + LONGEST).split("\n", 1);
    const found = PLACE.exec(frame);
    return found?.[1] ?? found?.[2] ?? null;
  }
  return null;
}
