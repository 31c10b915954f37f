import type { Run, Worker } from "../workers/worker.ts";
import type { FlowQueue } from "./flow-queue.ts";

/** Runs that workers have as soon as they have started, though the service stops. */
export class PromisedRuns {
  readonly #runs = new Map<Worker, Run>();

  /** The next run of a flow, for a worker that starts. */
  add(worker: Worker, flow: FlowQueue): void {
    const [run] = flow.take(worker.spec.key, 1);
    if (run === undefined) return;
    worker.reserved += 1;
    this.#runs.set(worker, run);
  }

  /** It has started, or will not. */
  take(worker: Worker): Run[] {
    const run = this.#runs.get(worker);
    this.#runs.delete(worker);
    return run === undefined ? [] : [run];
  }
}
