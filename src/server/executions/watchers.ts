import { setTimeout as wait } from "node:timers/promises";
import type { StoreNode } from "../store/node.ts";
import type { ActiveExecution } from "./active.ts";

/** How often it is told who waits, in milliseconds. */
const TELL_MS = 250;
/** By then every node has told of those who wait on it. */
const DECIDE_MS = 700;

/**
 * Tells the other nodes on which executions somebody waits here: a client that goes away at one
 * node cancels nothing while another waits elsewhere.
 */
export class Watchers {
  readonly #node: StoreNode | null;
  readonly #watched = new Set<ActiveExecution>();
  #isTelling = false;

  /** @param node null: there are no others */
  constructor(node: StoreNode | null) {
    this.#node = node;
  }

  /** One more waits on it. */
  add(execution: ActiveExecution): void {
    execution.watchers += 1;
    if (this.#node === null) return;
    this.#watched.add(execution);
    if (!this.#isTelling) this.#tellSoon();
  }

  delete(execution: ActiveExecution): void {
    execution.watchers -= 1;
    if (execution.watchers === 0) this.#watched.delete(execution);
  }

  /** Acts once it is known that nobody waits on it, here or elsewhere. */
  whenAlone(execution: ActiveExecution, act: () => void): void {
    if (this.#node === null || this.#node.others === 0) return act();
    this.#isAwaited(this.#node, execution.id).then(
      (isAwaited) => {
        if (!isAwaited && execution.watchers === 0) act();
      },
      // Where the others cannot be asked, nothing can be cancelled either.
      () => {},
    );
  }

  async #isAwaited(node: StoreNode, id: string): Promise<boolean> {
    await wait(DECIDE_MS, undefined, { ref: false });
    return node.isAwaited(id);
  }

  #tellSoon(): void {
    this.#isTelling = true;
    setTimeout(() => {
      this.#isTelling = false;
      if (this.#watched.size === 0) return;
      this.#tell();
      this.#tellSoon();
    }, TELL_MS).unref();
  }

  #tell(): void {
    const ids = [...this.#watched].map(({ id }) => id);
    if (this.#node !== null && this.#node.others > 0) this.#node.tellAwaited(ids).catch(() => {});
  }
}
