import { now } from "../../shared/clock.ts";
import type { LogLine } from "../../shared/wire/protocol.ts";

/** Most text that waits, of all executions together, in UTF-16 units. */
const MOST_LENGTH = 16 * 1024 * 1024;

/** What a line takes beside its text, in the same units. */
const LINE_LENGTH = 64;

interface Unwritten {
  readonly lines: LogLine[];
  /** Lines for which there was no room. */
  missing: number;
}

/** Lines of executions' logs that the store could not take, in the order in which they came. */
export class UnwrittenLines {
  readonly #mostLength: number;
  readonly #executions = new Map<string, Unwritten>();
  #length = 0;

  constructor(mostLength = MOST_LENGTH) {
    this.#mostLength = mostLength;
  }

  /** Whether some of an execution wait: those that come next stand behind them. */
  has(id: string): boolean {
    return this.#executions.has(id);
  }

  add(id: string, lines: readonly LogLine[]): void {
    const unwritten = this.#executions.get(id) ?? { lines: [], missing: 0 };
    this.#executions.set(id, unwritten);
    for (const line of lines) {
      const length = lengthOf(line);
      const hasRoom = unwritten.missing === 0 && this.#length + length <= this.#mostLength;
      if (!hasRoom) unwritten.missing += 1;
      else {
        this.#length += length;
        unwritten.lines.push(line);
      }
    }
  }

  /** @returns what waits, which the log is told of where it is not all */
  take(id: string): LogLine[] {
    const unwritten = this.#executions.get(id);
    if (unwritten === undefined) return [];
    this.#executions.delete(id);
    const { lines, missing } = unwritten;
    for (const line of lines) this.#length -= lengthOf(line);
    if (missing > 0) lines.push({ at: now(), level: "warn", text: describeMissing(missing) });
    return lines;
  }
}

function lengthOf({ text }: LogLine): number {
  return text.length + LINE_LENGTH;
}

function describeMissing(count: number): string {
  const what = count === 1 ? "1 line is" : `${count} lines are`;
  return `${what} missing here: the store could not be written, and too much waited for it`;
}
