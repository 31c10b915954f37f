import type { Input } from "./input.ts";
import type { Journal } from "./journal.ts";
import type { LiveExecution } from "./live.ts";
import type { Slots } from "./slots.ts";

/** An execution that waits for a thread. */
interface Waiting {
  readonly execution: LiveExecution;
  /** null: read again from the store when its turn comes, so that a long queue costs little. */
  input: Input | null;
  /** The commit that says RUNNING, once it is under way. */
  marked: Promise<void> | null;
}

/** Inputs up to this length are kept while they wait, up to so much in all; in characters. */
const KEPT_LENGTH = 16 * 1024;
const KEPT_TOTAL = 32 * 1024 * 1024;

/** Flows whose runs take less than this have their next executions marked ahead. */
const BRIEF_MS = 20;

/**
 * The executions that wait for a thread. PENDING becomes RUNNING by a commit before the dispatch.
 * Where a flow takes milliseconds, that commit would cost more than the run: so the next in line
 * are marked RUNNING while the ones before them still run. A flow is never run without its mark,
 * and so never twice.
 */
export class WaitingLine {
  readonly #slots: Slots;
  readonly #journal: Journal;
  readonly #lookahead: number;
  readonly #dispatch: (execution: LiveExecution, input: Input) => void;
  readonly #giveUp: (execution: LiveExecution, fault: unknown) => void;
  readonly #waiting = new Map<string, Waiting>();
  /** Mean of the latest runs of each flow, in milliseconds. */
  readonly #durations = new Map<string, number>();
  #kept = 0;

  constructor(options: {
    slots: Slots;
    journal: Journal;
    /** How many of one flow are marked ahead: as many as can run at the same time. */
    lookahead: number;
    /** The slot is taken and the mark is committed: run it. */
    dispatch: (execution: LiveExecution, input: Input) => void;
    /** It could not be marked, or has been decided meanwhile; its slot is to be given back. */
    giveUp: (execution: LiveExecution, fault: unknown) => void;
  }) {
    this.#slots = options.slots;
    this.#journal = options.journal;
    this.#lookahead = options.lookahead;
    this.#dispatch = options.dispatch;
    this.#giveUp = options.giveUp;
  }

  add(execution: LiveExecution, input: Input | null): void {
    const length = input?.input_value.length ?? 0;
    const is_kept = length <= KEPT_LENGTH && this.#kept + length <= KEPT_TOTAL;
    const waiting: Waiting = { execution, input: is_kept ? input : null, marked: null };
    this.#waiting.set(execution.id, waiting);
    this.#kept += waiting.input?.input_value.length ?? 0;
    this.#slots.wait(execution.flow, execution.id, () => void this.#advance(waiting));
    this.#markNext(execution.flow);
  }

  /** Takes it out of the line; false where it does not wait any more. */
  withdraw(execution: LiveExecution): boolean {
    if (!this.#slots.withdraw(execution.flow, execution.id)) return false;
    this.#remove(execution.id);
    return true;
  }

  /** How long a run took: tells whether the flow's next ones are marked ahead. */
  learn(flow: string, ms: number): void {
    const mean = this.#durations.get(flow) ?? ms;
    this.#durations.set(flow, mean * 0.9 + ms * 0.1);
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

  #remove(id: string): void {
    this.#kept -= this.#waiting.get(id)?.input?.input_value.length ?? 0;
    this.#waiting.delete(id);
  }

  #markNext(flow: string): void {
    if ((this.#durations.get(flow) ?? Number.POSITIVE_INFINITY) > BRIEF_MS) return;
    for (const id of this.#slots.next(flow, this.#lookahead))
      void this.#mark(this.#waiting.get(id));
  }

  #mark(waiting: Waiting | undefined): Promise<void> {
    if (waiting === undefined) return Promise.resolve();
    if (waiting.marked === null) {
      waiting.marked = this.#journal.run(waiting.execution.id);
      waiting.marked.catch(() => {});
    }
    return waiting.marked;
  }

  /** Its turn has come, and its slot is taken. */
  async #advance(waiting: Waiting): Promise<void> {
    const { execution } = waiting;
    const marked = this.#mark(waiting);
    this.#remove(execution.id);
    this.#markNext(execution.flow);
    try {
      await marked;
      const input = waiting.input ?? (await this.#journal.readInput(execution.id));
      if (execution.decided === null && input !== undefined) this.#dispatch(execution, input);
      else this.#giveUp(execution, "its record is gone");
    } catch (fault) {
      this.#giveUp(execution, fault);
    }
  }
}
