import { constants, fstatSync, openSync } from "node:fs";
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
  const output = (opened ??= openOutput());
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

/** One for all logs: what one of them could not write leaves before what the next one writes. */
let opened: ReturnType<typeof openOutput> | null = null;

/** Lines that cannot be written are kept up to so many bytes. */
const MOST_KEPT = 2 ** 20;

/** How often what is kept is tried again, and how often at the end of the process; milliseconds. */
const [RETRY_MS, END_MS] = [100, 1000];

/**
 * Standard output, also where it is a file on a full disk, a terminal that is gone, or a pipe that
 * nobody reads: the service goes on, and what it has kept leaves once it can be written.
 */
function openOutput() {
  const fd = openUnblocked() ?? 1;
  const output = pino.destination({
    fd,
    sync: true,
    maxLength: MOST_KEPT,
    retryEAGAIN: () => false,
  });
  let isFull = false;
  const retry = (): void => {
    isFull = false;
    output.write("");
  };
  output.on("error", ({ code }: NodeJS.ErrnoException) => {
    // Of anything else the next line is the next try.
    if (code !== "EAGAIN" || isFull) return;
    isFull = true;
    setTimeout(() => isFull && retry(), RETRY_MS).unref();
  });
  process.once("exit", () => {
    for (let waited = 0; isFull && waited < END_MS; waited += RETRY_MS) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      retry();
    }
  });
  return output;
}

/**
 * A pipe whose reader stands still would hold up the process with its next line, and each caller
 * with it. The runtime opens pipes so that they do; one of its own is as it is told.
 *
 * @returns null where standard output is no pipe, or cannot be opened again
 */
function openUnblocked(): number | null {
  try {
    if (!fstatSync(1).isFIFO()) return null;
    return openSync("/proc/self/fd/1", constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
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
  /** What a runner printed. */
  readonly text?: string;
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
