import type { LogLevel, LogLine } from "../shared/wire/protocol.ts";
import { monotonicClock, round, toWellFormed, wallClock } from "../shared/intrinsics.ts";
import { cut, format } from "./text.ts";

/** All lines of one execution together, in characters. */
const MAX_LOG_TEXT = 1_000_000;

/** The log of one execution, as far as the thread keeps it. */
export interface FlowLog {
  write(level: LogLevel, values: readonly unknown[]): void;
  /** Lines sent so far. */
  readonly count: number;
}

/**
 * Sends each line at once, so that those before an endless loop are not lost, and no more
 * than the limits: after them one line says that the rest was dropped.
 * @param tidy makes the paths in stacks relative
 */
export function makeLog(
  maxLines: number,
  tidy: (text: string) => string,
  send: (line: LogLine) => void,
): FlowLog {
  let count = 0;
  let room = MAX_LOG_TEXT;
  let full = false;
  const line = (level: LogLevel, text: string): void => {
    count += 1;
    send({ at: wallClock(), level, text });
  };
  return {
    get count() {
      return count;
    },
    write(level, values) {
      if (full) return;
      if (count >= maxLines || room <= 0) {
        full = true;
        line("warn", "Further lines of this execution were dropped");
        return;
      }
      const text = toWellFormed(cut(tidy(format(values))));
      room -= text.length;
      line(level, text);
    },
  };
}

/** Writes to the log of whichever execution runs the calling code. */
export type Write = (level: LogLevel, values: readonly unknown[]) => void;

/** By their labels; a label may be called like a member of any object. */
type Labelled = Record<string, number | undefined>;

/** Replaces `globalThis.console` by one that writes to the execution's log alone. */
export function replaceConsole(write: Write): void {
  const nothing = (): void => {};
  const info = (...values: unknown[]): void => write("info", values);
  const console = {
    log: info,
    info,
    dir: (value: unknown) => write("info", [value]),
    dirxml: info,
    table: info,
    debug: (...values: unknown[]) => write("debug", values),
    warn: (...values: unknown[]) => write("warn", values),
    error: (...values: unknown[]) => write("error", values),
    trace: (...values: unknown[]) => write("debug", ["Trace:", format(values)]),
    assert: (held: unknown, ...values: unknown[]) => {
      if (!held) write("error", ["Assertion failed:", format(values)]);
    },
    ...makeCounts(write),
    ...makeTimers(write),
    group: info,
    groupCollapsed: info,
    groupEnd: nothing,
    clear: nothing,
    profile: nothing,
    profileEnd: nothing,
    timeStamp: nothing,
  };
  Object.defineProperty(globalThis, "console", {
    value: console,
    writable: true,
    configurable: true,
  });
}

function makeCounts(write: Write) {
  const counts = { __proto__: null } as unknown as Labelled;
  return {
    count: (label = "default") => {
      const times = (counts[`${label}`] ?? 0) + 1;
      counts[`${label}`] = times;
      write("info", [`${label}: ${times}`]);
    },
    countReset: (label = "default") => {
      counts[`${label}`] = undefined;
    },
  };
}

function makeTimers(write: Write) {
  const timers = { __proto__: null } as unknown as Labelled;
  const elapsed = (label: string): string => {
    const now = monotonicClock();
    return `${label}: ${round(now - (timers[`${label}`] ?? now))}ms`;
  };
  return {
    time: (label = "default") => {
      timers[`${label}`] = monotonicClock();
    },
    timeLog: (label = "default", ...values: unknown[]) =>
      write("info", values.length === 0 ? [elapsed(label)] : [elapsed(label), format(values)]),
    timeEnd: (label = "default") => {
      write("info", [elapsed(label)]);
      timers[`${label}`] = undefined;
    },
  };
}
