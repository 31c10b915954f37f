import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isInside } from "../shared/path.ts";
import { toLine, widthOf } from "./table.ts";

/** A piece of the source around the place that an error names. */

/** `billing/invoice.ts:7:11`, as stacks of flows name places, and as messages do. */
const FRAME = /^\s+at (?:[^(]* \((?=.*\)$)|(?:async )?)(.+):(\d+):(\d+)\)?$/;
const PLACE = /^(?:: | at )?(\S[^:]*\.[mc]?[jt]s):(\d+)(?::(\d+))?/;
const BEFORE = 2;
/** A terminal's own would move the line below the sign for the column. */
const TAB = "  ";

/** The first place in a text that is a line of a file in the folder; null where there is none. */
export function findExcerpt(folder: string, text: string): string | null {
  for (const [, file = "", line = "", column] of text.split("\n").flatMap(placesOf)) {
    const excerpt = toExcerpt(folder, file, Number(line), Number(column ?? 0));
    if (excerpt !== null) return excerpt;
  }
  return null;
}

/** Words before a name may belong to it: the longest that it may be is the first. */
function placesOf(line: string): RegExpMatchArray[] {
  const frame = FRAME.exec(line);
  if (frame !== null) return [frame];
  const starts = [...line.matchAll(/^|: | at /g)].map(({ index }) => index);
  return starts.map((start) => PLACE.exec(line.slice(start))).filter((found) => found !== null);
}

function toExcerpt(folder: string, file: string, line: number, column: number): string | null {
  const lines = readLines(folder, file);
  const wrong = lines?.[line - 1];
  if (lines === null || wrong === undefined) return null;
  const first = Math.max(1, line - BEFORE);
  const width = String(line).length;
  const shown = lines.slice(first - 1, line).map((source, at) => {
    const number = first + at;
    const shownSource = toLine(source.replaceAll("\t", TAB));
    return `${number === line ? ">" : " "} ${String(number).padStart(width)} | ${shownSource}`;
  });
  const before = widthOf(toLine(wrong.slice(0, column - 1).replaceAll("\t", TAB)));
  const caret = column > 0 ? [`  ${" ".repeat(width)} | ${" ".repeat(before)}^`] : [];
  return [`${toLine(file)}:${line}`, ...shown, ...caret].join("\n");
}

function readLines(folder: string, file: string): string[] | null {
  const path = resolve(folder, file);
  if (!isInside(folder, path) || path.includes("node_modules")) return null;
  try {
    return readFileSync(path, "utf8").split(/\r?\n/);
  } catch {
    return null;
  }
}

/** Why a flow is broken, behind a file: its own, unless the message begins with that. */
export function nameFile(file: string, message: string): string {
  return message.startsWith(`${file}:`) ? message : `${file}: ${message}`;
}
