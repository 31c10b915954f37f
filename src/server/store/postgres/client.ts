import { setTimeout as wait } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { StartError } from "../../../shared/errors.ts";
import type { ExecutionRow } from "../execution-row.ts";
import type { Interrupted } from "../interrupted.ts";
import type { LedgerEntry } from "../ledger-record.ts";
import type { NodeFigures, Startable, Swept, Wanted } from "../node.ts";
import type { Query } from "../read-queue.ts";
import type { Row } from "../statement.ts";
import type { SharedTask } from "../shared-store.ts";
import { newUnavailable, StoreError } from "../store-error.ts";
import type {
  Answer,
  ClockRequest,
  Event,
  HurryRequest,
  Joined,
  Lane,
  NamedQuery,
  Opened,
  Renewed,
  Request,
  StopRequest,
  ThreadData,
  UnitStatement,
  Written,
} from "./thread-protocol.ts";

export interface ClientEvents {
  /** A line of what a start that takes long is doing. */
  tell(line: string): void;
  /** @param reason why the database cannot be reached; null: it can again */
  away(reason: string | null): void;
  /** The thread was lost: nothing can be written any more. */
  lost(error: Error): void;
}

/** How long its end may take, in milliseconds. */
const END_MS = 15_000;

interface Waiting {
  resolve(answer: never): void;
  reject(error: Error): void;
}

type Act = Request extends infer One ? (One extends Request ? Omit<One, "id"> : never) : never;

/** The store's thread as the server sees it. */
export class Client {
  readonly #worker: Worker;
  readonly #events: ClientEvents;
  readonly #waiting = new Map<number, Waiting>();
  readonly #opening = Promise.withResolvers<Opened>();
  #id = 0;
  #isOpen = false;
  #lost: Error | null = null;
  /** Rejects once the end has taken as long as it may; null: it goes on. */
  #ending: Promise<never> | null = null;
  #onWaiting = (): void => {};
  /** How many other nodes live, as of the latest second in which that could be asked. */
  others = 0;
  /** Since when it cannot be reached, as performance.now(); null: it can. */
  #awaySince: number | null = null;

  constructor(thread: string, data: ThreadData, events: ClientEvents) {
    this.#events = events;
    this.#worker = new Worker(thread, {
      name: "store",
      workerData: data,
      env: {},
      execArgv: [],
    });
    this.#worker.on("message", (message: Answer | Event) => {
      if ("id" in message) this.#onAnswer(message);
      else this.#onEvent(message);
    });
    this.#worker.on("error", (error) => this.#lose(error as Error));
  }

  /** @throws StartError */
  get opened(): Promise<Opened> {
    return this.#opening.promise;
  }

  get awaySince(): number | null {
    return this.#awaySince;
  }

  /** @throws StoreError */
  query(query: NamedQuery): Promise<Row[]> {
    return this.#ask({ query }, ({ rows }: { rows: Row[] }) => rows);
  }

  /** @returns number of the list, to stop it, and its rows */
  list(list: Query): { id: number; rows: Promise<Row[]> } {
    const rows = this.#ask({ list }, (answer: { rows: Row[] }) => answer.rows);
    return { id: this.#id, rows };
  }

  stop(id: number): void {
    const request: StopRequest = { stop: id };
    this.#worker.postMessage(request);
  }

  /** @throws StoreError where nothing was committed */
  commit(unit: readonly UnitStatement[]): Promise<readonly number[]> {
    return this.#ask({ unit }, ({ changes }: { changes: readonly number[] }) => changes);
  }

  record(lane: Lane, records: readonly LedgerEntry[]): Promise<Written> {
    return this.#ask({ records, lane }, (answer: Written) => answer);
  }

  /** Of times that the thread makes itself. */
  correctClock(behindMs: number): void {
    const request: ClockRequest = { behindMs };
    this.#worker.postMessage(request);
  }

  /** The service stops: nothing is tried for long any more. */
  hurry(): void {
    const request: HurryRequest = { hurry: true };
    this.#worker.postMessage(request);
  }

  renew(renew: NodeFigures): Promise<Renewed> {
    return this.#ask({ renew }, ({ renewed }: { renewed: Renewed }) => renewed);
  }

  sweep(): Promise<Swept | null> {
    return this.#ask({ sweep: true }, ({ swept }: { swept: Swept | null }) => swept);
  }

  tellAwaited(tellAwaited: readonly string[], left: readonly string[]): Promise<void> {
    return this.#ask({ tellAwaited, left }, () => {});
  }

  tellWaiting(): Promise<void> {
    return this.#ask({ tellWaiting: true }, () => {});
  }

  /** Calls back each time that another node tells so. */
  onWaiting(act: () => void): void {
    this.#onWaiting = act;
  }

  isAwaited(id: string): Promise<boolean> {
    return this.#ask({ isAwaited: id }, (answer: { isAwaited: boolean }) => answer.isAwaited);
  }

  listLost(listLost: readonly string[]): Promise<string[]> {
    return this.#ask({ listLost }, ({ names }: { names: string[] }) => names);
  }

  listWaiting(): Promise<string[]> {
    return this.#ask({ listWaiting: true }, ({ names }: { names: string[] }) => names);
  }

  endUnserved(endUnserved: readonly string[]): Promise<number> {
    return this.#ask({ endUnserved }, ({ ended }: { ended: number }) => ended);
  }

  take(take: Wanted): Promise<ExecutionRow[]> {
    return this.#ask({ take }, ({ taken }: { taken: ExecutionRow[] }) => taken);
  }

  listStartable(listStartable: readonly string[]): Promise<readonly Startable[]> {
    return this.#ask(
      { listStartable },
      (answer: { startable: readonly Startable[] }) => answer.startable,
    );
  }

  rejoin(): Promise<Joined> {
    return this.#ask({ rejoin: true }, ({ joined }: { joined: Joined }) => joined);
  }

  /** @returns what it left running */
  leave(): Promise<readonly Interrupted[]> {
    const left = (answer: { left: readonly Interrupted[] }) => answer.left;
    return this.#unlessLate(this.#ask({ leave: true }, left));
  }

  /** @returns null where another service has the task */
  async hold(task: SharedTask, isWaited: boolean): Promise<AsyncDisposable | null> {
    const held = this.#ask({ hold: task, isWaited }, ({ isHeld }: { isHeld: boolean }) => isHeld);
    const id = this.#id;
    if (!(await held)) return null;
    const release = (): Promise<void> => this.#ask({ release: id }, () => {}).catch(() => {});
    return { [Symbol.asyncDispose]: release };
  }

  /**
   * Before it is open nothing is under way: what it may have begun ends with its connections, as does
   * what is not done soon.
   */
  async close(): Promise<void> {
    if (this.#isOpen && this.#lost === null)
      await this.#unlessLate(this.#ask({ close: true }, () => null)).catch(() => {});
    await this.#worker.terminate();
  }

  /** Of all that an end asks: a unit may take minutes, which no supervisor waits. */
  #unlessLate<T>(answer: Promise<T>): Promise<T> {
    this.#ending ??= wait(END_MS, null, { ref: false }).then(() => {
      throw newUnavailable("The store is closed");
    });
    return Promise.race([answer, this.#ending]);
  }

  #ask<A, T>(act: Act, read: (answer: A) => T): Promise<T> {
    if (this.#lost !== null) return Promise.reject(this.#lost);
    const id = (this.#id += 1);
    const { promise, resolve, reject } = Promise.withResolvers<A>();
    this.#waiting.set(id, { resolve, reject });
    this.#worker.postMessage({ id, ...act });
    return promise.then(read);
  }

  #onAnswer(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ("error" in answer) waiting?.reject(new StoreError(answer.error));
    else waiting?.resolve(answer as never);
  }

  #onEvent(event: Event): void {
    if ("opened" in event) {
      this.#isOpen = true;
      this.#opening.resolve(event.opened);
    } else if ("line" in event) this.#events.tell(event.line);
    else if ("isWaiting" in event) this.#onWaiting();
    else if ("others" in event) this.others = event.others;
    else if ("away" in event) this.#onAway(event.away);
    else {
      this.#lost = new StartError(event.refused, event.exitCode);
      this.#opening.reject(this.#lost);
    }
  }

  #onAway(away: string | null): void {
    this.#awaySince = away === null ? null : (this.#awaySince ?? performance.now());
    this.#events.away(away);
  }

  #lose(error: Error): void {
    this.#lost = error;
    this.#opening.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#events.lost(error);
  }
}
