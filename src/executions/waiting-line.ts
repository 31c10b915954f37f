import type { Input } from "./input.ts";
import type { Journal } from "./journal.ts";
import type { LiveExecution } from "./live.ts";
import type { Pace } from "./pace.ts";
import type { Seat, Slots } from "./slots.ts";

/** An execution that waits for a thread. */
interface Waiting {
  readonly execution: LiveExecution;
  /** null: read again from the store when its turn comes, so that a long queue costs little. */
  input: Input | null;
  /** The commit that says RUNNING, once it is under way. */
  marked: Promise<void> | null;
}

/** Those of one flow: how many are marked, and the others in the order of their turns. */
interface FlowLine {
  marked: number;
  readonly unmarked: Map<string, Waiting>;
}

/** Inputs up to this length are kept while they wait, up to so much in all; in characters. */
const KEPT_LENGTH = 16 * 1024;
const KEPT_TOTAL = 32 * 1024 * 1024;

/**
 * The executions that wait for a thread. PENDING becomes RUNNING by a commit before the dispatch.
 * Where a flow takes milliseconds, that commit would cost more than the run: so the next in line
 * are marked RUNNING while the ones before them still run. A flow is never run without its mark,
 * and so never twice; started-file.ts tells after a kill which of the marked had started.
 */
export class WaitingLine {
  readonly #slots: Slots;
  readonly #journal: Journal;
  readonly #pace: Pace;
  readonly #dispatch: (execution: LiveExecution, input: Input, seat: Seat) => void;
  readonly #giveUp: (execution: LiveExecution, fault: unknown) => void;
  readonly #waiting = new Map<string, Waiting>();
  readonly #lines = new Map<string, FlowLine>();
  #kept = 0;

  constructor(options: {
    slots: Slots;
    journal: Journal;
    pace: Pace;
    /** The seat is taken and the mark is committed: run it. */
    dispatch: (execution: LiveExecution, input: Input, seat: Seat) => void;
    /** It could not be marked, or has been decided meanwhile; its seat is to be given back. */
    giveUp: (execution: LiveExecution, fault: unknown) => void;
  }) {
    this.#slots = options.slots;
    this.#journal = options.journal;
    this.#pace = options.pace;
    this.#dispatch = options.dispatch;
    this.#giveUp = options.giveUp;
  }

  /** Whether one that joins a flow's line now is expected to run within milliseconds. */
  isNear(flow: string): boolean {
    return this.#slots.length(flow) < this.#pace.near(flow);
  }

  /** @param is_marked whether its record says RUNNING already */
  add(execution: LiveExecution, input: Input | null, is_marked: boolean): void {
    const length = input?.input_value.length ?? 0;
    const is_kept = length <= KEPT_LENGTH && this.#kept + length <= KEPT_TOTAL;
    const marked = is_marked ? Promise.resolve() : null;
    const waiting: Waiting = { execution, input: is_kept ? input : null, marked };
    const line = this.#lineOf(execution.flow);
    if (is_marked) line.marked += 1;
    else line.unmarked.set(execution.id, waiting);
    this.#waiting.set(execution.id, waiting);
    this.#kept += waiting.input?.input_value.length ?? 0;
    this.#slots.wait(execution.flow, execution.id, (seat) => {
      this.#advance(waiting, seat).catch((fault: unknown) => this.#giveUp(execution, fault));
    });
    this.#markNext(execution.flow);
  }

  /** Takes it out of the line; false where it does not wait any more. */
  withdraw(execution: LiveExecution): boolean {
    if (!this.#slots.withdraw(execution.flow, execution.id)) return false;
    const waiting = this.#waiting.get(execution.id);
    if (waiting !== undefined) this.#remove(waiting);
    return true;
  }

  /** The marks of those that never came to run are taken back, for the next start. */
  async putBack(): Promise<void> {
    const ids: string[] = [];
    const marks: Promise<void>[] = [];
    for (const [id, { marked }] of this.#waiting)
      if (marked !== null) {
        ids.push(id);
        marks.push(marked);
      }
    await Promise.allSettled(marks);
    await this.#journal.putBack(ids);
  }

  #lineOf(flow: string): FlowLine {
    const found = this.#lines.get(flow);
    if (found !== undefined) return found;
    const line: FlowLine = { marked: 0, unmarked: new Map() };
    this.#lines.set(flow, line);
    return line;
  }

  #remove({ execution, input, marked }: Waiting): void {
    const line = this.#lineOf(execution.flow);
    if (marked === null) line.unmarked.delete(execution.id);
    else line.marked -= 1;
    this.#kept -= input?.input_value.length ?? 0;
    this.#waiting.delete(execution.id);
    if (line.marked === 0 && line.unmarked.size === 0) this.#lines.delete(execution.flow);
  }

  #markNext(flow: string): void {
    const line = this.#lineOf(flow);
    const near = this.#pace.near(flow);
    for (const waiting of line.unmarked.values()) {
      if (line.marked >= near) return;
      this.#mark(waiting);
    }
  }

  /** Whoever has its turn finds out whether it could be marked. */
  #mark(waiting: Waiting): void {
    if (waiting.marked === null) {
      const { id, flow } = waiting.execution;
      const line = this.#lineOf(flow);
      line.unmarked.delete(id);
      line.marked += 1;
      waiting.marked = this.#journal.run(id);
      waiting.marked.catch(() => {});
    }
  }

  /** Its turn has come, and its seat is taken. */
  async #advance(waiting: Waiting, seat: Seat): Promise<void> {
    const { execution } = waiting;
    this.#mark(waiting);
    this.#remove(waiting);
    this.#markNext(execution.flow);
    await waiting.marked;
    const input = waiting.input ?? (await this.#journal.readInput(execution.id));
    if (execution.decided === null && input !== undefined) this.#dispatch(execution, input, seat);
    else this.#giveUp(execution, "its record is gone");
  }
}
