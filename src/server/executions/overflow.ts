import type { StoreNode } from "../store/node.ts";
import type { NodeShare } from "./node-share.ts";

/** What has waited for so long is told of; then again after that time, and twice as long each. */
const [LEAST_MS, MOST_MS] = [20, 200];
/** So many of each flow are looked for: others take the oldest. */
const MOST = 100;

/** Tells the other nodes as long as more waits here than can run, and leaves them what they take. */
export class Overflow {
  readonly #node: StoreNode | null;
  readonly #share: Pick<NodeShare, "listQueued" | "leave">;
  #isWatching = false;
  #pauseMs = LEAST_MS;

  /** @param node null: there are no others */
  constructor(node: StoreNode | null, share: Pick<NodeShare, "listQueued" | "leave">) {
    this.#node = node;
    this.#share = share;
  }

  /** Something was queued, which may have to wait. */
  queued(): void {
    const node = this.#node;
    if (this.#isWatching || node === null || node.others === 0) return;
    this.#isWatching = true;
    this.#pauseMs = LEAST_MS;
    this.#checkIn(LEAST_MS, node);
  }

  #checkIn(ms: number, node: StoreNode): void {
    setTimeout(() => {
      this.#check(node).then(
        (nextMs) => {
          if (nextMs === null) this.#isWatching = false;
          else this.#checkIn(nextMs, node);
        },
        () => this.#checkIn(MOST_MS, node),
      );
    }, ms).unref();
  }

  /** @returns when to check again, in milliseconds; null: nothing waits */
  async #check(node: StoreNode): Promise<number | null> {
    const queued = this.#share.listQueued(MOST);
    if (queued.length === 0) return null;
    const since = Math.min(...queued.map((execution) => execution.since));
    const dueMs = since + LEAST_MS - performance.now();
    if (dueMs > 0) return dueMs;
    const lost = await node.listLost(queued.map(({ id }) => id));
    // What this node has taken back since is told of later: one connection asks for both.
    for (const id of lost) this.#share.leave(id);
    if (lost.length > 0) {
      this.#pauseMs = LEAST_MS;
      return 0;
    }
    await node.tellWaiting();
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(MOST_MS, 2 * pauseMs);
    return pauseMs;
  }
}
