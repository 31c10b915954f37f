import type { Run } from "../workers/worker.ts";
import type { ActiveExecution } from "./active.ts";
import { WebhookQueue, type ConcurrencyLimits, type LimitedWebhook } from "./webhook-queue.ts";

function readLimits(text: string | null): ConcurrencyLimits | null {
  if (text === null) return null;
  const limits = JSON.parse(text) as ConcurrencyLimits;
  const { max_concurrent, when_busy, max_queued } = limits;
  const isLimited = max_concurrent !== null || max_queued !== null || when_busy !== "queue";
  return isLimited ? limits : null;
}

/** Of how many webhooks it is known since when they have no limits. */
const MOST_UNLIMITED = 1000;

interface Entry {
  name: string;
  modified_at: number;
  readonly queue: WebhookQueue<ActiveExecution>;
}

/** The queues of those webhooks that limit how many of their executions run or wait. */
export class WebhookQueues {
  readonly #pass: (run: Run) => void;
  readonly #active: Iterable<ActiveExecution>;
  readonly #isShared: boolean;
  readonly #entries = new Map<string, Entry>();
  /** Webhooks without limits and when they were changed: who has read them before comes later. */
  readonly #unlimited = new Map<string, number>();

  /**
   * @param pass as that of a WebhookQueue
   * @param active executions that a new queue may have to count
   * @param isShared whether other nodes run executions of the webhooks too
   */
  constructor(pass: (run: Run) => void, active: Iterable<ActiveExecution>, isShared: boolean) {
    this.#pass = pass;
    this.#active = active;
    this.#isShared = isShared;
  }

  find(webhookId: string | null): WebhookQueue<ActiveExecution> | null {
    if (webhookId === null || this.#entries.size === 0) return null;
    return this.#entries.get(webhookId)?.queue ?? null;
  }

  /** As `find`, under limits that another node may have changed. */
  findNow(webhook: LimitedWebhook): WebhookQueue<ActiveExecution> | null {
    const { id, limits } = webhook;
    if (this.#isShared && (limits !== null || this.#entries.has(id))) this.limit(webhook);
    return this.find(id);
  }

  /**
   * The limits that a webhook has from now on; without any, what was held back runs. Those that are
   * no newer than what is known of it change nothing: calls and looks at the store may be late.
   */
  limit({ id, name, limits: text, modified_at }: LimitedWebhook): void {
    if (modified_at <= this.#modifiedAt(id)) return;
    const limits = readLimits(text);
    if (limits === null) this.#noteUnlimited(id, modified_at);
    const entry = this.#entries.get(id) ?? (limits === null ? null : this.#open(id, name));
    if (entry === null) return;
    entry.name = name;
    entry.modified_at = modified_at;
    entry.queue.limit(limits);
    if (limits === null) this.#entries.delete(id);
  }

  /** @param list reads all that have limits now */
  async limitOnly(list: () => Promise<readonly LimitedWebhook[]>): Promise<void> {
    const before = [...this.#entries].map(([id, { modified_at }]) => ({ id, modified_at }));
    const webhooks = await list();
    for (const webhook of webhooks) this.limit(webhook);
    const limited = new Set(webhooks.map(({ id }) => id));
    // Whoever took them off has changed the webhook, or deleted it, after what was known.
    for (const { id, modified_at } of before)
      if (!limited.has(id))
        this.limit({ id, name: "", limits: null, modified_at: modified_at + 1 });
  }

  /** How many runs are held back. */
  get held(): number {
    let held = 0;
    for (const { queue } of this.#entries.values()) held += queue.held;
    return held;
  }

  /** Of which another run would be held back, unless nobody else lets those before it start. */
  listBusy(): string[] {
    return this.#listIf((queue) => !queue.isFree && !queue.isPassedBy);
  }

  /** Of which runs wait until those of other nodes have ended. */
  listFull(): string[] {
    return this.#listIf((queue) => queue.isFull);
  }

  /** As `held`, of one flow: a webhook's runs are of one, but for a while after it was changed. */
  heldOf(flow: string): number {
    let held = 0;
    for (const { queue } of this.#entries.values()) if (queue.heldFlow === flow) held += queue.held;
    return held;
  }

  /** By webhook: how many of its executions run and wait. */
  *counts(): Iterable<{ webhook: string; running: number; waiting: number }> {
    for (const { name, queue } of this.#entries.values())
      yield { webhook: name, running: queue.running, waiting: queue.waiting };
  }

  #listIf(holds: (queue: WebhookQueue<ActiveExecution>) => boolean): string[] {
    return [...this.#entries].filter(([, { queue }]) => holds(queue)).map(([id]) => id);
  }

  #modifiedAt(id: string): number {
    return this.#entries.get(id)?.modified_at ?? this.#unlimited.get(id) ?? -Infinity;
  }

  #noteUnlimited(id: string, modifiedAt: number): void {
    const unlimited = this.#unlimited;
    unlimited.delete(id);
    unlimited.set(id, modifiedAt);
    if (unlimited.size > MOST_UNLIMITED) unlimited.delete(unlimited.keys().next().value as string);
  }

  #open(id: string, name: string): Entry {
    const queue = new WebhookQueue<ActiveExecution>(this.#pass, this.#isShared);
    for (const execution of this.#active)
      if (execution.row.webhook_id === id) {
        execution.queue = queue;
        queue.adopt(execution);
      }
    const entry = { name, modified_at: -Infinity, queue };
    this.#entries.set(id, entry);
    return entry;
  }
}
