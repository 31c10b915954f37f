import { availableParallelism } from "node:os";
import type { Worker } from "../workers/worker.ts";
import type { FlowQueue } from "./flow-queue.ts";
import type { Clock } from "./scheduler-clock.ts";

/** An idle thread is kept so long; the last of its flow as long as there are few enough. */
const IDLE_MS = 30_000;
const REAP_MS = 1_000;
/** Whoever had a run within this time is in use. */
const RECENT_MS = 1_000;
/** A flow that has waited so long for a further thread is given one in place of one in use. */
const PATIENCE_MS = 1_000;
/**
 * How many threads a second take another's place: a start needs some 40 ms of a processor, so that
 * two thirds of them are left for runs.
 */
const MOST_REPLACED = 8 * availableParallelism();
const REPLACED_MS = 1_000;

export interface WarmThreadsOptions {
  readonly clock: Clock;
  /** WARM_THREADS. */
  readonly warmThreads: number;
  listFlows(): Iterable<FlowQueue>;
  /** A flow may have a thread now that it could not have before. */
  onRoom(): void;
  /** Threads take each other's place as often as they may: more flows are in use than are kept. */
  onCrowded?(): void;
}

/**
 * All threads, those that are idle in the order in which they may go: says whether there may be
 * another, and lets those go that nobody has needed for long, or of which there are too many.
 */
export class WarmThreads {
  readonly #options: WarmThreadsOptions;
  /** The least recently used first. */
  readonly #idle = new Map<Worker, FlowQueue>();
  #count = 0;
  /** Threads that took another's place, and when the latest of them did. */
  #replaced = 0;
  readonly #replacedAt: number[] = [];
  #forgetRetry: (() => void) | null = null;
  #forget: () => void = () => {};

  constructor(options: WarmThreadsOptions) {
    this.#options = options;
    this.#reapSoon();
  }

  add(flow: FlowQueue, worker: Worker): void {
    flow.workers.push(worker);
    this.#count += 1;
    this.#trim();
  }

  /** One that is gone, or ends. */
  remove(flow: FlowQueue, worker: Worker): void {
    this.#idle.delete(worker);
    if (flow.remove(worker)) this.#count -= 1;
  }

  /** It has no run. */
  park(flow: FlowQueue, worker: Worker): void {
    flow.idle.push(worker);
    this.#idle.set(worker, flow);
  }

  /** An idle worker of a version, which is idle no longer. */
  take(flow: FlowQueue, key: string): Worker | undefined {
    const worker = flow.takeIdle(key);
    if (worker !== undefined) this.#idle.delete(worker);
    return worker;
  }

  /**
   * Whether a flow may have another thread of a version now. Where as many are kept as may be, it takes
   * the place of one that is idle, whose flow may soon need it: a start costs as much as hundreds of
   * short runs, and flows that took each other's threads all the time would get to nothing else.
   */
  mayAdd(flow: FlowQueue, key: string): boolean {
    const isReplacing = this.#count >= this.#options.warmThreads && this.#idle.size > 0;
    if (isReplacing && !this.#mayReplaceFor(flow, key)) return false;
    flow.shortSince = null;
    return true;
  }

  /** Whether a flow without a thread has to wait before one starts, as others do. */
  get isCrowded(): boolean {
    const isWaitedFor = this.#forgetRetry !== null;
    return isWaitedFor && this.#count >= this.#options.warmThreads && this.#idle.size > 0;
  }

  close(): void {
    this.#forget();
    this.#forgetRetry?.();
  }

  /** A further thread of a flow replaces one that nobody has needed for a while, or any after a while. */
  #mayReplaceFor(flow: FlowQueue, key: string): boolean {
    const now = this.#options.clock.now();
    flow.shortSince ??= now;
    const [oldest] = this.#idle.keys();
    const isUnused = oldest !== undefined && oldest.since <= now - RECENT_MS;
    const isDue = isUnused || flow.shortSince <= now - PATIENCE_MS || !flow.has(key);
    return isDue && this.#mayReplace(now);
  }

  #mayReplace(now: number): boolean {
    const at = this.#replaced % MOST_REPLACED;
    const due = (this.#replacedAt[at] ?? -Infinity) + REPLACED_MS;
    if (due > now) {
      this.#options.onCrowded?.();
      this.#retryAfter(due - now);
      return false;
    }
    this.#replacedAt[at] = now;
    this.#replaced += 1;
    return true;
  }

  #retryAfter(ms: number): void {
    this.#forgetRetry ??= this.#options.clock.after(ms, () => {
      this.#forgetRetry = null;
      this.#options.onRoom();
    });
  }

  /** Lets idle threads go, least recently used first, until there are few enough. */
  #trim(): void {
    for (const [worker, flow] of this.#idle) {
      if (this.#count <= this.#options.warmThreads) return;
      this.#letGo(flow, worker);
    }
  }

  #reapSoon(): void {
    this.#forget = this.#options.clock.after(REAP_MS, () => {
      this.#trimUnused();
      this.#trim();
      this.#options.onRoom();
      this.#reapSoon();
    });
  }

  #trimUnused(): void {
    const before = this.#options.clock.now() - IDLE_MS;
    for (const flow of this.#options.listFlows()) {
      const idle = flow.idle.filter(({ since }) => since < before);
      for (const worker of idle.slice(0, flow.workers.length - 1)) this.#letGo(flow, worker);
    }
  }

  #letGo(flow: FlowQueue, worker: Worker): void {
    this.remove(flow, worker);
    worker.end();
  }
}
