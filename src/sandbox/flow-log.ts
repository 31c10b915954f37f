import type { LogLevel, LogLine } from "../shared/wire/protocol.ts";
import * as js from "../shared/intrinsics.ts";
import { cut, format } from "./text.ts";

/** The first lines of one execution together, and the last ones, in characters. */
const MAX_LOG_TEXT = 800_000;
const MAX_TAIL_TEXT = 200_000;
/** Of the lines that are kept, how many are the last ones. */
const MAX_TAIL = 100;
const TAIL_SHARE = 5;

/**
 * The log of one execution, as far as the thread keeps it. It sends each line at once, so that those
 * before an endless loop are not lost, and no more than the limits: what comes after them waits for
 * the end, where the last lines follow one that says how many were left out.
 */
export class FlowLog {
  readonly #tidy: (text: string) => string;
  readonly #send: (line: LogLine) => void;
  /** How many of the first lines are sent, and how many of the last. */
  readonly #first: number;
  readonly #last: number;
  /** Most logs need none. */
  #tail: Tail | null = null;
  #count = 0;
  #room = MAX_LOG_TEXT;
  #isClosed = false;
  #labels: Labels | null = null;

  /** @param tidy makes the paths in stacks relative */
  constructor(maxLines: number, tidy: (text: string) => string, send: (line: LogLine) => void) {
    this.#tidy = tidy;
    this.#send = send;
    this.#last = js.min(MAX_TAIL, js.floor(maxLines / TAIL_SHARE));
    this.#first = maxLines - this.#last;
  }

  /** What its execution counts and times on the console. */
  get labels(): Labels {
    return (this.#labels ??= new Labels());
  }

  write(level: LogLevel, values: readonly unknown[]): void {
    if (this.#isClosed) return;
    const text = js.toWellFormed(cut(this.#tidy(format(values))));
    const line = new Line(level, text);
    if (this.#tail !== null || this.#count >= this.#first || this.#room <= 0) {
      this.#tail ??= new Tail();
      return addTo(this.#tail, line, this.#last);
    }
    this.#room -= text.length;
    this.#count += 1;
    this.#send(line);
  }

  /** Sends the last lines of a log that is too long; there are no more afterwards. */
  close(): void {
    if (this.#isClosed || this.#tail === null) return;
    this.#isClosed = true;
    const { lines, first: dropped, next } = this.#tail;
    if (dropped > 0) this.#send(new Line("warn", `${dropped} lines were left out here`));
    for (let at = dropped; at < next; at += 1) this.#send(js.mapGet(lines, at) as Line);
  }
}
js.inheritNothing(FlowLog);

class Line implements LogLine {
  readonly at = js.wallClock();
  readonly level: LogLevel;
  readonly text: string;

  constructor(level: LogLevel, text: string) {
    this.level = level;
    this.text = text;
  }
}
js.inheritNothing(Line);

/** The last lines, by their number. */
class Tail {
  readonly lines = new js.Map<number, Line>();
  /** Number of the oldest that is there, and so how many are not any longer. */
  first = 0;
  next = 0;
  /** In characters. */
  length = 0;
}
js.inheritNothing(Tail);

function addTo(tail: Tail, line: Line, most: number): void {
  js.mapSet(tail.lines, tail.next, line);
  tail.next += 1;
  tail.length += line.text.length;
  while (tail.next - tail.first > most || tail.length > MAX_TAIL_TEXT) {
    tail.length -= (js.mapGet(tail.lines, tail.first) as Line).text.length;
    js.mapDelete(tail.lines, tail.first);
    tail.first += 1;
  }
}

/** By their labels; a label may be called like a member of any object. */
type Labelled = Record<string, number | undefined>;

class Labels {
  readonly counts = { __proto__: null } as unknown as Labelled;
  /** When each began, in milliseconds. */
  readonly timers = { __proto__: null } as unknown as Labelled;
}
js.inheritNothing(Labels);

/** The log of whichever execution runs the calling code; null: none that goes on. */
type FindLog = () => FlowLog | null;

/** Replaces `globalThis.console` by one that writes to the execution's log alone. */
export function replaceConsole(find: FindLog): void {
  const write: FlowLog["write"] = (level, values) => find()?.write(level, values);
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
    trace: (...values: unknown[]) => write("debug", [`Trace: ${format(values)}${frames()}`]),
    assert: (held: unknown, ...values: unknown[]) => {
      if (!held) write("error", ["Assertion failed:", format(values)]);
    },
    ...makeLabelled(find),
    group: info,
    groupCollapsed: info,
    groupEnd: nothing,
    clear: nothing,
    profile: nothing,
    profileEnd: nothing,
    timeStamp: nothing,
    /** A class, so that packages may inherit from it. */
    Console: function Console() {
      throw new js.Error(
        '"console.Console" is not available in a flow: console itself prints to its log',
      );
    },
  };
  Object.defineProperty(globalThis, "console", {
    value: console,
    writable: true,
    configurable: true,
  });
}

/** Where the calling code is: lines of a stack, or nothing where a flow makes its own stacks. */
function frames(): string {
  const { stack } = new js.Error("");
  return typeof stack === "string" ? js.slice(stack, "Error".length) : "";
}

/** What counts and times by labels. */
function makeLabelled(find: FindLog) {
  const labelled =
    (act: (log: FlowLog, label: string, values: readonly unknown[]) => void) =>
    (label: unknown = "default", ...values: unknown[]): void => {
      const name = `${label as string}`;
      const log = find();
      if (log !== null) act(log, name, values);
    };
  const elapsed = ({ labels }: FlowLog, label: string): string => {
    const now = js.monotonicClock();
    return `${label}: ${js.round(now - (labels.timers[label] ?? now))}ms`;
  };
  return {
    count: labelled((log, label) => {
      const times = (log.labels.counts[label] ?? 0) + 1;
      log.labels.counts[label] = times;
      log.write("info", [`${label}: ${times}`]);
    }),
    countReset: labelled(({ labels }, label) => (labels.counts[label] = undefined)),
    time: labelled(({ labels }, label) => (labels.timers[label] = js.monotonicClock())),
    timeLog: labelled((log, label, values) => {
      const text = elapsed(log, label);
      log.write("info", values.length === 0 ? [text] : [text, format(values)]);
    }),
    timeEnd: labelled((log, label) => {
      log.write("info", [elapsed(log, label)]);
      log.labels.timers[label] = undefined;
    }),
  };
}
