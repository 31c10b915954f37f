import { pino, stdTimeFunctions, type Logger, type LoggerOptions } from "pino";
import { prettyFactory } from "pino-pretty";

export type Log = Logger;

export interface LogOptions {
  readonly level: string;
  readonly format: "json" | "pretty";
  /** NODE_NAME, a member of each line; null unless told: no other service shares the store. */
  readonly node?: string | null;
}

/**
 * The service's log: one line per event on standard output, JSON or, for people, pretty.
 * Never give it a key, a token, a password, a body or a header.
 */
export function openLog({ level, format, node = null }: LogOptions): Log {
  const base = node === null ? null : { node };
  const output = openOutput();
  if (format === "json") return pino({ ...JSON_LINES, base, level }, output);
  const toLines = prettyFactory({
    // Not where NO_COLOR or TERM=dumb says so.
    colorize: process.stdout.isTTY === true && process.stdout.hasColors(),
    ignore: "pid,hostname",
    singleLine: true,
    errorLikeObjectKeys: ["err", "stack"],
    customPrettifiers: { stack: toLogLines },
  });
  const write = (text: string) => output.write(toLines(text));
  return pino({ base, level, formatters: { log: withoutNulls } }, { write });
}

/** Lines that cannot be written are kept up to so many bytes. */
const MOST_KEPT = 2 ** 20;

/**
 * Standard output, also where it is a file on a full disk or a terminal that is gone: the service
 * goes on, and what it has kept leaves with the next line that can be written.
 */
function openOutput() {
  const output = pino.destination({ fd: 1, sync: true, maxLength: MOST_KEPT });
  output.on("error", () => {});
  return output;
}

/** An entry of the log as whoever shows it in words of their own gets it. */
export interface LogEntry {
  readonly level: string;
  readonly msg: string;
  readonly flow?: string;
  readonly webhook?: string;
  readonly code?: string;
  readonly reason?: string;
  readonly stack?: string | null;
  readonly error?: string;
  readonly place?: string | null;
  readonly duration_ms?: number;
}

/** A log whose entries are handed on, and not written. */
export function openLogFor(level: string, take: (entry: LogEntry) => void): Log {
  const write = (text: string) => take(JSON.parse(text) as LogEntry);
  return pino({ ...JSON_LINES, level }, { write });
}

/** Levels as words and times as ISO 8601, as journald, Loki and people read them. */
const JSON_LINES: LoggerOptions = {
  base: null,
  timestamp: stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
};

function withoutNulls(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** Of a text that others wrote, in UTF-16 units: what was recorded has the whole. */
const LONGEST = 300;

/** Characters that act on a terminal (C0, DEL, C1), or on the order in which a line is read. */
const ACTING = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text that others wrote, on one line. */
export function toLogText(text: string): string {
  return escape(text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text);
}

/** A stack, however many lines it has. */
function toLogLines(stack: unknown): string {
  const text = typeof stack === "string" ? stack : JSON.stringify(stack);
  return text.split("\n").map(escape).join("\n");
}

function escape(text: string): string {
  return text.replace(ACTING, (found) => `\\u${hexOf(found)}`);
}

function hexOf(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, "0");
}
