import { now } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import type { Lease } from "../nodes/lease.ts";
import type { Run } from "../workers/worker.ts";
import { ExecutionRun } from "./execution-run.ts";
import { toJob } from "./input.ts";
import type { LimitedStart } from "../store/ledger-record.ts";
import type { HeldBack } from "./held-back.ts";
import type { Journal } from "./journal.ts";
import type { KeptInputs } from "./kept-inputs.ts";
import type { Removals } from "./removals.ts";

export interface HandoverDeps {
  readonly log: Log;
  readonly journal: Journal;
  readonly kept: KeptInputs;
  readonly baseUrl: string;
  readonly removals: Pick<Removals, "giveUp" | "leave">;
  /** null: there are no other nodes. */
  readonly heldBack: Pick<HeldBack, "poll"> | null;
  readonly lease: Pick<Lease, "renewal"> | null;
}

type HandOver = (recorded: readonly Run[]) => void;

/** Records that runs are handed to threads, and makes their jobs; see SchedulerOptions. */
export class Handover {
  readonly #deps: HandoverDeps;

  constructor(deps: HandoverDeps) {
    this.#deps = deps;
  }

  /** Calls back once, with those of the runs that are to run. */
  record(runs: readonly Run[], handOver: HandOver): void {
    const own = runs.filter((run) => run instanceof ExecutionRun);
    if (own.every(({ job }) => job !== null)) return this.#start(own, handOver);
    Promise.all(own.map((run) => this.#load(run))).then(
      (loaded) => this.#start(loaded.flat(), handOver),
      (error: unknown) => {
        this.#deps.log.error({ err: error }, "Cannot hand runs over");
        handOver([]);
      },
    );
  }

  #start(runs: readonly ExecutionRun[], handOver: HandOver): void {
    const { journal } = this.#deps;
    const own = runs.filter(({ execution }) => !execution.isRefused);
    // What is stopped records nothing any more, and what is not recorded does not run.
    if (own.length === 0 || journal.isStopped) return handOver([]);
    const rows = new Set(own.map(({ execution }) => execution.recordedIn));
    const [row = null] = rows.size === 1 ? rows : [];
    const at = handOverTime(own);
    for (const { execution } of own) {
      execution.queue?.started(execution);
      execution.recordedStart = at;
    }
    let left = own;
    const limited = listLimited(own);
    const members = { ids: own.map(({ id }) => id), at, ...(limited.length > 0 && { limited }) };
    journal.start(members, row, {
      overtaken: (ids) => {
        for (const { execution } of own)
          if (ids.includes(execution.id)) this.#deps.removals.leave(execution);
      },
      heldBack: (ids) => {
        // What was cut short meanwhile is ended by whoever hands it over.
        const isHeld = (run: ExecutionRun): boolean =>
          ids.includes(run.id) && run.abortReason === null;
        for (const run of own.filter(isHeld)) this.#holdBack(run);
        left = own.filter((run) => !isHeld(run));
      },
      started: () => this.#onStarted(left, handOver),
      // The service stops before it could be written: they stay PENDING.
      failed: () => (journal.isClosing ? handOver([]) : this.#start(own, handOver)),
    });
  }

  /** As many of its webhook run as may, on all nodes: it waits on. */
  #holdBack(run: ExecutionRun): void {
    const { kept, heldBack } = this.#deps;
    const { execution } = run;
    execution.queue?.holdBack(execution, run);
    kept.release(execution);
    kept.keep(execution);
    heldBack?.poll();
  }

  /** A node that stood still may have been given up meanwhile: others have ended what did not begin. */
  #onStarted(all: readonly ExecutionRun[], handOver: HandOver): void {
    if (this.#deps.journal.isStopped) return handOver([]);
    const renewal = this.#deps.lease?.renewal() ?? null;
    // It never rejects.
    if (renewal !== null) return void renewal.then(() => this.#onStarted(all, handOver));
    const at = now();
    const runs = all.filter(({ execution }) => !execution.isElsewhere);
    for (const { execution } of runs) {
      execution.givenAt = Math.max(at, execution.row.created_at);
      this.#deps.kept.release(execution);
    }
    handOver(runs.filter(({ execution }) => !execution.isRefused));
  }

  /** Makes a job of what was recorded. @returns the run, where it is to run */
  async #load(run: ExecutionRun): Promise<ExecutionRun[]> {
    const { execution } = run;
    if (run.job !== null) return [run];
    try {
      const input = await this.#deps.journal.readInput(run.id);
      if (input === undefined) throw new Error("its record is gone");
      run.job = toJob(execution.row, input, this.#deps.baseUrl);
      return [run];
    } catch (error) {
      this.#deps.removals.giveUp(execution, error);
      return [];
    }
  }
}

/** Of webhooks that limit their executions over all nodes. */
function listLimited(runs: readonly ExecutionRun[]): LimitedStart[] {
  return runs.flatMap(({ id, execution: { queue, row } }) =>
    queue?.asksToStart === true && row.webhook_id !== null
      ? [{ id, webhook_id: row.webhook_id }]
      : [],
  );
}

/**
 * Later than all before: what undoes one of them undoes no other, though it comes late. Nothing
 * starts before it is created, whatever is done to the clock.
 */
function handOverTime(runs: readonly ExecutionRun[]): number {
  return runs.reduce(
    (at, { execution: { recordedStart, row } }) =>
      Math.max(at, (recordedStart ?? 0) + 1, row.created_at),
    now(),
  );
}
