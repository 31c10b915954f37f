import { pino, stdTimeFunctions, type Logger, type LoggerOptions } from "pino";
import pretty from "pino-pretty";

export type Log = Logger;

/**
 * The service's log: one line per event on standard output, JSON or, for people, pretty.
 * Never give it a key, a token, a password, a body or a header.
 */
export function openLog({ level, format }: { level: string; format: "json" | "pretty" }): Log {
  if (format === "json")
    return pino({ ...JSON_LINES, level }, pino.destination({ fd: 1, sync: true }));
  const destination = pretty({
    colorize: process.stdout.isTTY === true,
    ignore: "pid,hostname",
    singleLine: true,
    sync: true,
  });
  return pino({ base: null, level, formatters: { log: withoutNulls } }, destination);
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
