import { setTimeout as wait } from "node:timers/promises";
import type { StoreNode } from "../store/node.ts";
import type { ActiveExecution } from "./active.ts";

/** How often others are told who waits, in milliseconds: most calls are over by then. */
const TELL_MS = 250;
/** How often they are told it again: a database that has crashed forgets it. */
const RENEW_MS = 5000;
/** By then every node has told of those who wait on it, and taken back what is over. */
const DECIDE_MS = 1000;

/**
 * Tells the other nodes on which executions somebody waits here: a client that goes away at one
 * node cancels nothing while another waits elsewhere.
 */
export class Watchers {
  readonly #node: StoreNode | null;
  /** Since when somebody waits here, as performance.now(). */
  readonly #watched = new Map<ActiveExecution, number>();
  readonly #promised = new WeakSet<ActiveExecution>();
  /** Ids of which the others were told: two may wait here on one, each found by itself. */
  readonly #told = new Set<string>();
  #renewedAt = Number.NEGATIVE_INFINITY;
  #isTelling = false;

  /** @param node null: there are no others */
  constructor(node: StoreNode | null) {
    this.#node = node;
  }

  /** One more waits on it. */
  add(execution: ActiveExecution): void {
    execution.watchers += 1;
    if (this.#node === null || execution.watchers > 1) return;
    this.#watched.set(execution, performance.now());
    this.#tellSoon(this.#node);
  }

  delete(execution: ActiveExecution): void {
    execution.watchers -= 1;
    if (execution.watchers === 0) this.#watched.delete(execution);
  }

  /** Somebody was told that it runs, and does not wait: it counts as one who waits until its end. */
  promise(execution: ActiveExecution): void {
    if (this.#promised.has(execution)) return;
    this.#promised.add(execution);
    this.add(execution);
    const end = (): void => this.delete(execution);
    execution.ended.then(end, end);
  }

  /** Acts once it is known that nobody waits on it, here or elsewhere. */
  whenAlone(execution: ActiveExecution, act: () => void): void {
    const node = this.#node;
    if (node === null || node.others === 0) return act();
    const asked = wait(DECIDE_MS, undefined, { ref: false }).then(() =>
      node.isAwaited(execution.id),
    );
    asked.then(
      (isAwaited) => {
        if (!isAwaited && execution.watchers === 0) act();
      },
      // Where the others cannot be asked, nothing can be cancelled either.
      () => {},
    );
  }

  #tellSoon(node: StoreNode): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    setTimeout(() => void this.#tellOnce(node), TELL_MS).unref();
  }

  async #tellOnce(node: StoreNode): Promise<void> {
    // What could not be told is told the next time.
    await this.#tell(node).catch(() => {});
    this.#isTelling = false;
    if (this.#watched.size + this.#told.size > 0) this.#tellSoon(node);
  }

  async #tell(node: StoreNode): Promise<void> {
    // Whoever comes is told all.
    if (node.others === 0) return this.#told.clear();
    const now = performance.now();
    const isRenewal = now - this.#renewedAt >= RENEW_MS;
    const watched = new Set([...this.#watched.keys()].map(({ id }) => id));
    const lasting = new Set(
      [...this.#watched].flatMap(([{ id }, since]) => (now - since >= TELL_MS ? id : [])),
    );
    const awaited = isRenewal ? lasting : lasting.difference(this.#told);
    const left = this.#told.difference(watched);
    if (awaited.size + left.size === 0) return;
    await node.tellAwaited([...awaited], [...left]);
    if (isRenewal) this.#renewedAt = now;
    for (const id of awaited) this.#told.add(id);
    for (const id of left) this.#told.delete(id);
  }
}
