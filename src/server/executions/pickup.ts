import { now } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import type { Room, StoreNode } from "../store/node.ts";
import type { Store } from "../store/store.ts";
import { listWaitingOf } from "../store/unended.ts";
import { listLimited } from "../store/webhooks.ts";
import type { Executions } from "./executions.ts";
import type { StartRequest } from "./start-request.ts";

export interface PickupOptions {
  readonly store: Store;
  readonly node: StoreNode;
  readonly executions: Executions;
  readonly log: Log;
  /** Fetches the version from another node where it is not here. @throws StoreError */
  readonly findFlow: (name: string, version: string | null) => Promise<StartRequest["flow"]>;
  /** What serves of a flow here; null: nothing. */
  readonly findServing: (flow: string) => Serving | null;
  /** For how long no node may serve what waits, in milliseconds; 10 minutes unless told. */
  readonly unservedMs?: number;
}

/** @see Room */
export type Serving = Pick<Room, "version" | "isFetching" | "broken">;

/** How often it is looked, in milliseconds: while something waits elsewhere, and otherwise. */
const [SOON_MS, POLL_MS] = [200, 1000];
/** After each look there is a rest: of so long at least, and of so many times what it took. */
const [REST_MS, REST] = [20, 4];
/**
 * What has waited on a node that lives for so long is for whoever has a free thread, and its version: its
 * own may be starting. Where nodes tell that they have none, it is so at once.
 */
const PATIENCE_MS = 1000;
/** Executions of lost nodes that are taken at once, while fewer of their flow wait here. */
const BATCH = 200;
/** Where nobody lives who would have another version. */
const ANY: Serving = { version: null, isFetching: false, broken: [] };
/** A node that has the flow may come back, or be updated. */
const UNSERVED_MS = 600_000;

/**
 * Takes up what waits elsewhere: executions of nodes that are lost, and of nodes with more waiting
 * than they can run. Leaves what others have ended or taken, and keeps to the limits that they set.
 */
export class Pickup {
  readonly #options: PickupOptions;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> = Promise.resolve();
  #isPolling = false;
  /** Until when it rests, as performance.now(). */
  #restsUntil = 0;
  /** More waits on another node than it can run. */
  #isTold = false;
  #isClosed = false;
  /** Of this node, and not queued yet: their versions are still looked for. */
  readonly #taken: ExecutionRow[] = [];
  /** The last taking was not answered: what it took is not known. */
  #isUnanswered = false;
  /** Flows that wait elsewhere and that no version serves here: since when, as performance.now(). */
  #unservedSince = new Map<string, number>();

  constructor(options: PickupOptions) {
    this.#options = options;
    options.node.onWaiting(() => this.#onTold());
    this.#pollIn(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#polling;
  }

  /** One that has no thread to spare need not know. */
  #onTold(): void {
    if (this.#isTold || !this.#options.executions.share.scheduler.hasFreeThread) return;
    this.#isTold = true;
    if (!this.#isPolling) this.#pollIn(0);
  }

  #pollIn(ms: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    const restMs = this.#restsUntil - performance.now();
    const poll = (): void => {
      this.#polling = this.#pollOnce();
    };
    this.#timer = setTimeout(poll, Math.max(ms, restMs)).unref();
  }

  async #pollOnce(): Promise<void> {
    const begun = performance.now();
    this.#isPolling = true;
    const isWaiting = await this.#poll().catch((error: unknown) => {
      this.#options.log.debug({ error: String(error) }, "Cannot look at what waits elsewhere");
      this.#isTold = false;
      return false;
    });
    this.#isPolling = false;
    const at = performance.now();
    this.#restsUntil = at + Math.min(POLL_MS, Math.max(REST_MS, REST * (at - begun)));
    const soonMs = isWaiting ? SOON_MS : POLL_MS;
    this.#pollIn(this.#isTold ? 0 : soonMs);
  }

  /** @returns whether something waits elsewhere */
  async #poll(): Promise<boolean> {
    const isTold = this.#isTold;
    this.#isTold = false;
    await this.#leaveOthers();
    if (this.#isUnanswered) await this.#findTaken();
    await this.#resume();
    const { node, store, executions } = this.#options;
    if (node.others > 0) await executions.queues.limitOnly(() => listLimited(store));
    const flows = await node.listWaiting();
    await this.#endUnserved(flows);
    if (flows.length === 0) return false;
    await this.#take(flows, (flow) => this.#roomForLost(flow), null);
    const since = isTold ? Number.MAX_SAFE_INTEGER : now() - PATIENCE_MS;
    const taken = await this.#take(flows, (flow) => this.#roomFor(flow), since);
    this.#isTold ||= isTold && taken > 0;
    return true;
  }

  /** @returns how many were taken */
  async #take(
    flows: readonly string[],
    roomFor: (flow: string) => number,
    waitingSince: number | null,
  ): Promise<number> {
    const { node, log, executions, findServing } = this.#options;
    const room = flows
      .map((flow) => ({ flow, count: roomFor(flow), ...(findServing(flow) ?? ANY) }))
      .filter(({ count }) => count > 0);
    if (room.length === 0 || this.#isClosed || executions.isDraining) return 0;
    this.#isUnanswered = true;
    const busyWebhooks = executions.queues.listBusy();
    const rows = await node.take({ room, waitingSince, busyWebhooks });
    this.#isUnanswered = false;
    this.#taken.push(...rows);
    await this.#resume();
    if (rows.length > 0) log.info({ executions: rows.length }, "Took up what waited elsewhere");
    return rows.length;
  }

  /**
   * Where the store is away meanwhile, the rest comes with the next poll; so does what is still
   * known here from before it was another's: nothing is queued twice.
   */
  async #resume(): Promise<void> {
    const { executions, findFlow } = this.#options;
    for (const row of this.#taken.slice()) {
      const flow = await findFlow(row.flow, row.flow_version);
      if (executions.find(row.id) !== undefined) continue;
      executions.resume(row, flow);
      this.#taken.splice(this.#taken.indexOf(row), 1);
    }
  }

  /** What was taken though the answer was lost: it is this node's, which does not know of it. */
  async #findTaken(): Promise<void> {
    const { node, executions, store } = this.#options;
    const known = new Set(this.#taken.map(({ id }) => id));
    const rows = await listWaitingOf(store, node.id);
    this.#isUnanswered = false;
    this.#taken.push(
      ...rows.filter(({ id }) => !known.has(id) && executions.find(id) === undefined),
    );
  }

  /** A flow that no node has ends what waits for it: that is said by who has no others. */
  #canRun(flow: string): boolean {
    const { node, findServing } = this.#options;
    return node.others === 0 || findServing(flow) !== null;
  }

  /** What no node can run for long is told so: nobody waits for it for ever. */
  async #endUnserved(waiting: readonly string[]): Promise<void> {
    const { node, log, unservedMs = UNSERVED_MS } = this.#options;
    const at = performance.now();
    const unserved = waiting.filter((flow) => !this.#canRun(flow));
    const since = new Map(unserved.map((flow) => [flow, this.#unservedSince.get(flow) ?? at]));
    this.#unservedSince = since;
    const due = unserved.filter((flow) => at - (since.get(flow) ?? at) >= unservedMs);
    if (due.length === 0) return;
    for (const flow of due) since.delete(flow);
    const ended = await node.endUnserved(due);
    if (ended > 0) log.warn({ executions: ended }, "Ended what no node has had the flow of");
  }

  #roomForLost(flow: string): number {
    const { executions } = this.#options;
    return this.#canRun(flow) && executions.share.room.queuedOf(flow) < BATCH ? BATCH : 0;
  }

  #roomFor(flow: string): number {
    const { executions, findServing } = this.#options;
    return findServing(flow) === null ? 0 : executions.share.scheduler.roomOf(flow);
  }

  /** Executions that others have cancelled, or ended because this node seemed lost. */
  async #leaveOthers(): Promise<void> {
    const { node, executions } = this.#options;
    const ids = node.others === 0 ? [] : executions.share.listUndecided();
    if (ids.length === 0) return;
    for (const id of await node.listLost(ids)) executions.share.leave(id);
  }
}
