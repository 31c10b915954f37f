import type { Run, Worker } from "../workers/worker.ts";
import type { FlowQueues } from "./flow-queues.ts";

type Loan = readonly [lender: Worker, run: Run];

/** Workers whose run waits for others, which may have its slot: one at a time. */
export class Lenders {
  readonly #flows: FlowQueues;
  readonly #workers = new Set<Worker>();

  constructor(flows: FlowQueues) {
    this.#flows = flows;
  }

  /** @returns to be called once the run waits no more for the other */
  add(run: Run, awaited: Run): () => void {
    const { workers } = this.#flows.of(run.flow);
    const worker = workers.find(({ current }) => current === run);
    if (worker === undefined) return () => {};
    worker.awaited.add(awaited);
    this.#workers.add(worker);
    return () => worker.awaited.delete(awaited);
  }

  /** Those that can lend, each with the next run that its own waits for and that has no thread. */
  list(): readonly Loan[] {
    return [...this.#workers].flatMap((worker) => this.#next(worker));
  }

  #next(worker: Worker): Loan[] {
    if (!worker.isWaiting) this.#workers.delete(worker);
    if (!worker.isWaiting || worker.borrower !== null) return [];
    for (const run of worker.awaited) if (run.link !== null) return [[worker, run]];
    return [];
  }
}
