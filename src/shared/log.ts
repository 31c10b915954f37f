import { pino, type Logger } from "pino";
import pretty from "pino-pretty";

export type Log = Logger;

/**
 * The service's log: one line per event on standard output, JSON or, for people, pretty.
 * Never give it a key, a token, a password, a body or a header.
 */
export function openLog(options: { level: string; format: "json" | "pretty" }): Log {
  const destination =
    options.format === "pretty"
      ? pretty({ colorize: process.stdout.isTTY === true, ignore: "pid,hostname", sync: true })
      : pino.destination({ fd: 1, sync: true });
  return pino({ level: options.level, base: null }, destination);
}
