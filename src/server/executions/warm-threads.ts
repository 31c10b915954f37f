import type { Worker } from "../workers/worker.ts";
import type { FlowQueue } from "./flow-queue.ts";
import type { Clock } from "./scheduler-clock.ts";

/** An idle thread is kept so long; the last of its flow as long as there are few enough. */
const IDLE_MS = 30_000;
const REAP_MS = 1_000;

export interface WarmThreadsOptions {
  readonly clock: Clock;
  /** WARM_THREADS. */
  readonly warmThreads: number;
  listFlows(): Iterable<FlowQueue>;
}

/** Lets threads go that nobody has needed for long, or of which there are too many. */
export class WarmThreads {
  readonly #options: WarmThreadsOptions;
  #forget: () => void = () => {};

  constructor(options: WarmThreadsOptions) {
    this.#options = options;
    this.#reapSoon();
  }

  /** Lets idle threads go, least recently used first, until there are few enough. */
  trim(): void {
    const flows = [...this.#options.listFlows()];
    let surplus = -this.#options.warmThreads;
    for (const { workers } of flows) surplus += workers.length;
    if (surplus <= 0) return;
    const idle = flows.flatMap((flow) => flow.idle.map((worker) => ({ flow, worker })));
    const oldest = idle.toSorted((a, b) => a.worker.since - b.worker.since);
    for (const { flow, worker } of oldest.slice(0, surplus)) letGo(flow, worker);
  }

  close(): void {
    this.#forget();
  }

  #reapSoon(): void {
    this.#forget = this.#options.clock.after(REAP_MS, () => {
      this.#trimUnused();
      this.trim();
      this.#reapSoon();
    });
  }

  #trimUnused(): void {
    const before = this.#options.clock.now() - IDLE_MS;
    for (const flow of this.#options.listFlows()) {
      const idle = flow.idle.filter(({ since }) => since < before);
      for (const worker of idle.slice(0, flow.workers.length - 1)) letGo(flow, worker);
    }
  }
}

function letGo(flow: FlowQueue, worker: Worker): void {
  flow.remove(worker);
  worker.end();
}
