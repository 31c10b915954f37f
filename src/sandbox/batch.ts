import type { Ending, Job } from "../runner/protocol.ts";
import type { FlowThread } from "./flow-thread.ts";

/** An execution as its pool sees it. */
export interface Run {
  readonly job: Job;
  /** It is returned where no thread is free soon. */
  readonly is_ahead: boolean;
  /** With which others it was given to a thread; null: it waits for one. */
  batch: Batch | null;
  /** When it came, as performance.now(). */
  readonly since: number;
  lines: number;
  /** Why it was aborted. */
  aborted: string | null;
  grace: NodeJS.Timeout | null;
  /** Its thread is being ended: it ends with it. */
  is_terminated: boolean;
  /** Returned already, while lines of its log are on their way. */
  returned: { readonly ending: Ending; readonly lines: number } | null;
}

export function newRun(job: Job, is_ahead: boolean): Run {
  return {
    job,
    is_ahead,
    batch: null,
    since: performance.now(),
    lines: 0,
    aborted: null,
    grace: null,
    is_terminated: false,
    returned: null,
  };
}

/** Runs that were given to a thread together: it takes them one after the other. */
export class Batch {
  readonly thread: FlowThread;
  readonly runs: readonly Run[];
  readonly since = performance.now();
  #is_whole: boolean;

  constructor(thread: FlowThread, runs: readonly Run[]) {
    this.thread = thread;
    this.runs = runs;
    this.#is_whole = runs.length > 1;
    for (const run of runs) run.batch = this;
  }

  /** Whether some of it may not have begun. */
  get is_whole(): boolean {
    return this.#is_whole;
  }

  /** Settles with what the thread returns for the last one that it began. */
  begin(): Promise<unknown> {
    return this.thread.run(this.runs.map(({ job }) => job));
  }

  /** Those that have not begun: they are no part of it any more. */
  takeBack(): readonly Run[] {
    if (!this.#is_whole) return [];
    this.#is_whole = false;
    const left = this.runs.slice(this.thread.takeBack());
    for (const run of left) run.batch = null;
    return left;
  }
}
