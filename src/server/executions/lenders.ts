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
    const worker = this.#workerOf(run);
    if (worker === undefined) return () => {};
    worker.awaited.add(awaited);
    this.#workers.add(worker);
    return () => worker.awaited.delete(awaited);
  }

  /** Whether the next run that this one waits for has its slot, where it needs it. */
  canLend(run: Run): boolean {
    const worker = this.#workerOf(run);
    if (worker === undefined || worker.borrower !== null) return false;
    return worker.awaited.values().every(({ link }) => link === null);
  }

  /** Those that can lend, each with the next run that its own waits for and that has no thread. */
  list(): readonly Loan[] {
    return [...this.#workers].flatMap((worker) => this.#next(worker));
  }

  #workerOf(run: Run): Worker | undefined {
    return this.#flows.of(run.flow).workers.find(({ current }) => current === run);
  }

  #next(worker: Worker): Loan[] {
    if (!worker.isWaiting) this.#workers.delete(worker);
    if (!worker.isWaiting || worker.borrower !== null) return [];
    for (const run of worker.awaited) if (run.link !== null) return [[worker, run]];
    return [];
  }
}
