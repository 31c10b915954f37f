import type { Log } from "../../shared/log.ts";
import type { Startable, StoreNode } from "../store/node.ts";
import type { ActiveExecutions } from "./active.ts";
import { untilNextPoll } from "./elsewhere.ts";
import type { WebhookQueues } from "./webhook-queues.ts";

export interface HeldBackDeps {
  readonly node: StoreNode;
  readonly queues: WebhookQueues;
  readonly active: ActiveExecutions;
  readonly log: Log;
}

/** What waits here until executions of its webhook have ended at other nodes: one look for all. */
export class HeldBack {
  readonly #deps: HeldBackDeps;
  #isPolling = false;
  #isClosed = false;
  /** When something was last seen to start, here or elsewhere, as performance.now(). */
  #movedAt = 0;
  #startedAt = 0;

  constructor(deps: HeldBackDeps) {
    this.#deps = deps;
  }

  /** Something is held back: looks until nothing is. */
  poll(): void {
    if (this.#isPolling) return;
    this.#isPolling = true;
    this.#movedAt = performance.now();
    this.#pollSoon();
  }

  /** The service stops: what waits is for others, or for its next start. */
  close(): void {
    this.#isClosed = true;
  }

  #pollSoon(): void {
    const ms = untilNextPoll(performance.now() - this.#movedAt);
    setTimeout(() => void this.#passStartable(), ms).unref();
  }

  async #passStartable(): Promise<void> {
    const { node, queues, active, log } = this.#deps;
    const full = this.#isClosed ? [] : queues.listFull();
    this.#isPolling = full.length > 0;
    if (!this.#isPolling) return;
    try {
      const all = await node.listStartable(full);
      for (const { webhook_id, free, ids } of all) {
        const runs = ids.flatMap((id) => active.find(id)?.run ?? []);
        queues.find(webhook_id)?.passStartable(free, runs);
      }
      this.#learn(all);
    } catch (error) {
      log.debug({ error: String(error) }, "Cannot look for what may start; tried again");
    }
    this.#pollSoon();
  }

  /** While much starts, the next one soon does too. */
  #learn(all: readonly Startable[]): void {
    const startedAt = Math.max(0, ...all.map((one) => one.startedAt ?? 0));
    if (startedAt !== this.#startedAt) this.#movedAt = performance.now();
    this.#startedAt = startedAt;
  }
}
