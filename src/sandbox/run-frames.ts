import * as js from "../shared/intrinsics.ts";
import type { Job } from "../shared/wire/protocol.ts";
import type { ToThread } from "../shared/wire/thread-messages.ts";

type RunMessage = ToThread & { type: "run" };

/** Runs that came together, and in which round; those of an earlier round do not begin. */
class RunFrame {
  readonly round: number;
  readonly jobs: readonly Job[];
  next: RunFrame | null = null;

  constructor({ round, jobs }: RunMessage) {
    this.round = round;
    this.jobs = jobs;
  }
}
js.inheritNothing(RunFrame);

/** What the thread has been given to run, in the order in which it came. */
export class RunFrames {
  /** null: all have been served. */
  #last: RunFrame | null = null;
  /** Takes the next, where one is waited for. */
  #awaited: ((frame: RunFrame) => void) | null = null;

  arrived(message: RunMessage): void {
    const frame = new RunFrame(message);
    if (this.#last !== null) this.#last.next = frame;
    this.#last = frame;
    this.#awaited?.(frame);
    this.#awaited = null;
  }

  /** The one that comes after `frame`, which has been served; null: the first. */
  after(frame: RunFrame | null): RunFrame | Promise<RunFrame> {
    if (frame !== null && frame.next !== null) {
      const { next } = frame;
      // One that is old for the engine would keep all that come after it.
      frame.next = null;
      return next;
    }
    this.#last = null;
    return new js.Promise((resolve) => (this.#awaited = resolve));
  }
}
