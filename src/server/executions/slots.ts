import type { Worker } from "../workers/worker.ts";
import type { FlowQueue } from "./flow-queue.ts";

/**
 * Counts workers that have runs, or start for them, against the limits: `workerThreads` in all,
 * `flowMaxConcurrent` of one flow, and the last one for a flow that has none (contract, section 7,
 * number 1). Where that leaves none for a run that another one waits for, it has the slot of that one
 * beside it, and may pass it on: runs that wait for each other lock nobody out. Of the threads of a
 * slot all have asked to wait but one, and there are MAX_CHILD_DEPTH of them at most beside the first.
 */
export class Slots {
  readonly #total: number;
  readonly #mostOfFlow: number;
  #claimed = 0;
  /** Workers with the slot of another one. */
  #lent = 0;

  constructor(limits: { readonly workerThreads: number; readonly flowMaxConcurrent: number }) {
    this.#total = limits.workerThreads;
    this.#mostOfFlow = Math.min(limits.flowMaxConcurrent, Math.max(1, this.#total - 1));
  }

  /** Whether any is free, for whatever flow. */
  get hasFree(): boolean {
    return this.#claimed < this.#total;
  }

  /** How many more workers of this flow may have runs now. */
  freeFor(flow: FlowQueue): number {
    const total = flow.slots === 0 ? this.#total : this.#total - 1;
    return Math.max(0, Math.min(this.#roomOf(flow), total - this.#claimed));
  }

  /** Whether runs of a flow wait for another worker, which it would have, were it not for others. */
  isShort(flow: FlowQueue): boolean {
    return this.#roomOf(flow) > 0 && this.freeFor(flow) === 0 && flow.uncovered > 0;
  }

  /** Whether a worker of this flow needs the slot of another one, and may have it: what waits does not count. */
  mayBorrow(flow: FlowQueue): boolean {
    return this.freeFor(flow) === 0 && countActive(flow) < this.#mostOfFlow;
  }

  /** It has runs, is given some, or starts. @param lender whose slot it has; null: one of its own */
  claim(flow: FlowQueue, worker: Worker, lender: Worker | null): void {
    if (worker.hasSlot) return;
    worker.hasSlot = true;
    flow.slots += 1;
    if (lender === null) this.#claimed += 1;
    else {
      this.#lent += 1;
      worker.lender = lender;
      lender.borrower = worker;
    }
  }

  release(flow: FlowQueue, worker: Worker): void {
    if (!worker.hasSlot) return;
    worker.hasSlot = false;
    flow.slots -= 1;
    const { lender, borrower } = worker;
    if (lender === null && borrower === null) this.#claimed -= 1;
    else this.#lent -= 1;
    // Who had it beside this one keeps it.
    if (lender !== null) lender.borrower = borrower;
    if (borrower !== null) borrower.lender = lender;
    worker.lender = null;
    worker.borrower = null;
  }

  /** As far as its own limit goes: runs with a lent slot leave others their turn, unless they are active. */
  #roomOf(flow: FlowQueue): number {
    if (this.#lent === 0) return this.#mostOfFlow - flow.slots;
    const own = flow.workers.filter(({ hasSlot, lender }) => hasSlot && lender === null);
    return this.#mostOfFlow - Math.max(own.length, countActive(flow));
  }
}

/** Workers with a slot whose run waits for no other. */
function countActive({ workers }: FlowQueue): number {
  return workers.filter(({ hasSlot, isWaiting }) => hasSlot && !isWaiting).length;
}
