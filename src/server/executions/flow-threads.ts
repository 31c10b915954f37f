import { failed, type FlowSpec } from "../../shared/wire/protocol.ts";
import type { Worker, WorkerEvents } from "../workers/worker.ts";
import type { FlowQueue } from "./flow-queue.ts";
import { Slots } from "./slots.ts";
import { WarmThreads, type WarmThreadsOptions } from "./warm-threads.ts";

export interface FlowThreadsOptions extends WarmThreadsOptions {
  /** WORKER_THREADS. */
  readonly workerThreads: number;
  /** FLOW_MAX_CONCURRENT. */
  readonly flowMaxConcurrent: number;
  /** What threads tell. */
  readonly events: WorkerEvents;
  /**
   * Starts a thread for a version.
   * @throws {Error} why that cannot be
   */
  startWorker(spec: FlowSpec, events: WorkerEvents): Worker;
}

/** The threads of all flows: which flow may have another, and when one starts, is kept or goes. */
export class FlowThreads {
  readonly #options: FlowThreadsOptions;
  /** How many may have runs. */
  readonly slots: Slots;
  readonly #warm: WarmThreads;

  constructor(options: FlowThreadsOptions) {
    this.#options = options;
    this.slots = new Slots(options);
    this.#warm = new WarmThreads(options);
  }

  /** How many more threads a flow may have runs in, or start, now. */
  freeFor(flow: FlowQueue): number {
    const mayNotStart = flow.idle.length === 0 && this.#warm.isCrowded;
    return flow.shortSince !== null || mayNotStart ? 0 : this.slots.freeFor(flow);
  }

  /** How many runs of a flow that come now need not wait for others. */
  roomFor(flow: FlowQueue): number {
    return Math.max(0, this.freeFor(flow) + flow.spare - flow.uncovered);
  }

  /** Whether a flow may have runs in another thread, as far as the limits go. */
  mayHaveMore(flow: FlowQueue): boolean {
    return this.slots.freeFor(flow) > 0;
  }

  /** An idle worker of a version, which is idle no longer. */
  takeIdle(flow: FlowQueue, key: string): Worker | undefined {
    return this.#warm.take(flow, key);
  }

  /** It has no run any more. */
  release(flow: FlowQueue, worker: Worker): void {
    this.slots.release(flow, worker);
    if (worker.isEnding) return this.#warm.remove(flow, worker);
    this.#warm.park(flow, worker);
    worker.endIfUnused();
  }

  /** It is gone. */
  forget(flow: FlowQueue, worker: Worker): void {
    this.#warm.remove(flow, worker);
    this.slots.release(flow, worker);
  }

  /** Starts one before there is a run for it, where one may be kept. */
  warm(flow: FlowQueue, spec: FlowSpec): void {
    if (this.#options.warmThreads > 0 && this.mayHaveMore(flow)) this.#start(flow, spec);
  }

  /** Starts as many as what waits needs, as far as there may be more. @param together runs of each */
  startFor(flow: FlowQueue, spec: FlowSpec, together: number): void {
    const wanted = Math.ceil(flow.runs.length / together);
    for (let starting = flow.countStarting(spec.key); starting < wanted; starting += 1) {
      if (!this.mayHaveMore(flow) || !this.#warm.mayAdd(flow, spec.key)) return;
      if (!this.#start(flow, spec)) return;
    }
  }

  /** Starts one that has the slot of another. */
  startBeside(flow: FlowQueue, spec: FlowSpec, lender: Worker): void {
    if (this.#warm.mayAdd(flow, spec.key)) this.#start(flow, spec, lender);
  }

  /** Starts one in place of one that ends, unless another of its version is to be had. */
  replace(flow: FlowQueue, spec: FlowSpec): void {
    if (flow.countStarting(spec.key) > 0 || !this.mayHaveMore(flow)) return;
    if (flow.idle.some((worker) => worker.spec.key === spec.key && worker.isOpen)) return;
    this.#start(flow, spec);
  }

  /** What its thread keeps may be why something has failed there: it is given no run more. */
  renew(flow: FlowQueue, worker: Worker): void {
    if (worker.isLeaving || worker.isEnding) return;
    if (!flow.renewals.take(this.#options.clock.now())) return;
    worker.leave();
    worker.recall();
  }

  close(): void {
    this.#warm.close();
  }

  #start(flow: FlowQueue, spec: FlowSpec, lender: Worker | null = null): boolean {
    const { startWorker, events, onRoom } = this.#options;
    try {
      const worker = startWorker(spec, events);
      this.slots.claim(flow, worker, lender);
      this.#warm.add(flow, worker);
      return true;
    } catch (error) {
      const ending = failed(error instanceof Error ? error.message : String(error));
      flow.failNext(spec.key, ending, lender);
      onRoom();
      return false;
    }
  }
}
