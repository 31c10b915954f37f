import { now } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import type { StoreNode } from "../store/node.ts";
import type { Store } from "../store/store.ts";
import { listLimited } from "../store/webhooks.ts";
import type { Executions } from "./executions.ts";
import type { StartRequest } from "./start-request.ts";

export interface PickupOptions {
  readonly store: Store;
  readonly node: StoreNode;
  readonly executions: Executions;
  readonly log: Log;
  readonly findFlow: (name: string, version: string | null) => StartRequest["flow"];
}

/** How often it is looked, in milliseconds: while something waits elsewhere, and otherwise. */
const [SOON_MS, POLL_MS] = [200, 1000];
/** What has waited on a node that lives for so long is for whoever has a free thread. */
const PATIENCE_MS = 1000;
/** Executions of lost nodes that are taken at once, while fewer of their flow wait here. */
const BATCH = 200;

/**
 * Takes up what waits elsewhere: executions of nodes that are lost, and of nodes with more waiting
 * than they can run. Leaves what others have ended or taken, and keeps to the limits that they set.
 */
export class Pickup {
  readonly #options: PickupOptions;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: PickupOptions) {
    this.#options = options;
    this.#pollIn(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#polling;
  }

  #pollIn(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#polling = this.#poll().then(
        (isWaiting) => this.#goOn(isWaiting ? SOON_MS : POLL_MS),
        (error: unknown) => {
          this.#options.log.debug({ error: String(error) }, "Cannot look at what waits elsewhere");
          this.#goOn(POLL_MS);
        },
      );
    }, ms).unref();
  }

  #goOn(ms: number): void {
    if (!this.#isClosed) this.#pollIn(ms);
  }

  /** @returns whether something waits elsewhere */
  async #poll(): Promise<boolean> {
    await this.#leaveOthers();
    const { node, store, executions } = this.#options;
    if (node.others > 0) executions.limitOnly(await listLimited(store));
    const flows = await node.listWaiting();
    if (flows.length === 0) return false;
    await this.#take(flows, (flow) => this.#roomForLost(flow), null);
    const since = now() - PATIENCE_MS;
    await this.#take(flows, (flow) => this.#roomFor(flow), since);
    return true;
  }

  async #take(
    flows: readonly string[],
    roomFor: (flow: string) => number,
    waitingSince: number | null,
  ): Promise<void> {
    const { node, executions, findFlow, log } = this.#options;
    const room = flows
      .map((flow) => ({ flow, count: roomFor(flow) }))
      .filter(({ count }) => count > 0);
    if (room.length === 0 || this.#isClosed) return;
    const rows = await node.take({ room, waitingSince });
    for (const row of rows) executions.resume(row, findFlow(row.flow, row.flow_version));
    if (rows.length > 0) log.info({ executions: rows.length }, "Took up what waited elsewhere");
  }

  /** A flow that no node has ends what waits for it: that is said by who has no others. */
  #canRun(flow: string): boolean {
    const { node, findFlow } = this.#options;
    return node.others === 0 || findFlow(flow, null) !== undefined;
  }

  #roomForLost(flow: string): number {
    const { executions } = this.#options;
    return this.#canRun(flow) && executions.queuedOf(flow) < BATCH ? BATCH : 0;
  }

  #roomFor(flow: string): number {
    return this.#canRun(flow) ? this.#options.executions.roomOf(flow) : 0;
  }

  /** Executions that others have cancelled, or ended because this node seemed lost. */
  async #leaveOthers(): Promise<void> {
    const { node, executions } = this.#options;
    const ids = node.others === 0 ? [] : executions.listUndecided();
    if (ids.length === 0) return;
    for (const id of await node.listLost(ids)) executions.leave(id);
  }
}
