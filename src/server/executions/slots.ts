import type { Worker } from "../workers/worker.ts";
import type { FlowQueue } from "./flow-queue.ts";

/**
 * Counts workers that have runs, or start for them, against the limits: `workerThreads` in all,
 * `flowMaxConcurrent` of one flow, and the last one for a flow that has none (contract, section 7,
 * number 1).
 */
export class Slots {
  readonly #total: number;
  readonly #mostOfFlow: number;
  #claimed = 0;

  constructor(limits: { readonly workerThreads: number; readonly flowMaxConcurrent: number }) {
    this.#total = limits.workerThreads;
    this.#mostOfFlow = Math.min(limits.flowMaxConcurrent, Math.max(1, this.#total - 1));
  }

  get hasFree(): boolean {
    return this.#claimed < this.#total;
  }

  /** How many more workers of this flow may have runs now. */
  freeFor({ slots }: FlowQueue): number {
    const total = slots === 0 ? this.#total : this.#total - 1;
    return Math.max(0, Math.min(this.#mostOfFlow - slots, total - this.#claimed));
  }

  /** Whether a flow would have more workers, were it not for others. */
  isShort(flow: FlowQueue): boolean {
    return flow.slots < this.#mostOfFlow && this.freeFor(flow) === 0;
  }

  claim(flow: FlowQueue, worker: Worker): void {
    if (worker.hasSlot) return;
    worker.hasSlot = true;
    flow.slots += 1;
    this.#claimed += 1;
  }

  release(flow: FlowQueue, worker: Worker): void {
    if (!worker.hasSlot) return;
    worker.hasSlot = false;
    flow.slots -= 1;
    this.#claimed -= 1;
  }
}
