import { describeWaiting } from "../../shared/busy.ts";
import { RequestError } from "../../shared/errors.ts";
import type { Scheduler } from "./scheduler.ts";
import type { LimitedWebhook } from "./webhook-queue.ts";
import type { WebhookQueues } from "./webhook-queues.ts";

/** Whether what has to wait for a thread, or for others of its webhook, may wait here. */
export class QueueRoom {
  readonly #scheduler: Scheduler;
  readonly #queues: WebhookQueues;
  readonly #maxQueued: number;

  constructor(scheduler: Scheduler, queues: WebhookQueues, maxQueued: number) {
    this.#scheduler = scheduler;
    this.#queues = queues;
    this.#maxQueued = maxQueued;
  }

  /** How many of a flow wait. */
  queuedOf(flow: string): number {
    return this.#scheduler.queuedOf(flow) + this.#queues.heldOf(flow);
  }

  /**
   * No flow holds more than half of the queue (contract, section 7, number 1).
   *
   * @throws RequestError queue_full, webhook_busy
   */
  require(flow: string, webhook: LimitedWebhook | null): void {
    const isFree = this.#scheduler.isFree(flow);
    const queue = webhook === null ? null : this.#queues.findNow(webhook);
    const hasToWait = !isFree || queue?.isFree === false;
    if (hasToWait && queue?.isReplacing !== true) this.#requirePlace(flow);
    queue?.requireRoom(isFree, this.#scheduler.meanOf(flow));
  }

  #requirePlace(flow: string): void {
    const queued = this.#scheduler.queued + this.#queues.held;
    if (queued >= this.#maxQueued) throw refuse(describeWaiting(queued, "", ""));
    this.requirePlaceOf(this.queuedOf(flow));
  }

  /**
   * @param own how many of its flow wait
   * @throws RequestError queue_full
   */
  requirePlaceOf(own: number): void {
    if (own >= Math.max(1, Math.floor(this.#maxQueued / 2)))
      throw refuse(describeWaiting(own, " of this flow", ", half of the queue"));
  }
}

function refuse(why: string): RequestError {
  return new RequestError("queue_full", `${why}. Try again later`, {
    headers: { "retry-after": "10" },
  });
}
