import { Worker } from "node:worker_threads";
import { StoreError, type UnitError } from "../store-error.ts";
import type { SqliteFile } from "./connection.ts";
import type { StatementText, Unit } from "../statement.ts";
import type { StoreSize } from "../store.ts";
import type {
  Answered,
  Applied,
  ApplyRequest,
  Closed,
  CloseRequest,
  CommitRequest,
  CommitResult,
  MaintainRequest,
  OpenRequest,
  SyncRequest,
} from "./thread-protocol.ts";

interface Waiting {
  readonly unit: Unit;
  resolve(changes: readonly number[]): void;
  reject(error: Error): void;
}

/** Ends a thread of the store once it has closed its connection, unless it is gone already. */
export async function closeThread(worker: Worker): Promise<void> {
  if (worker.threadId === -1) return;
  const closed = new Promise<void>((resolve) => {
    worker.on("message", (answer: object) => {
      if ("closed" in answer) resolve();
    });
    worker.once("exit", () => resolve());
  });
  const request: CloseRequest = { close: true };
  worker.postMessage(request);
  await closed;
  await worker.terminate();
}

/** Starts its thread, which takes about as long as all else that opens a store. */
export function startWriter(thread: string): Writer {
  return new Writer(new Worker(thread, { name: "store", env: {}, execArgv: [] }));
}

/** The committing writer: at most one commit is under way; what arrives meanwhile is the next. */
export class Writer {
  readonly #worker: Worker;
  /** By number, the prepared statements that the thread knows. */
  readonly #known: boolean[] = [];
  #gathered: Waiting[] = [];
  #underWay: Waiting[] = [];
  #commits = 0;
  #units = 0;
  #lost: Error | null = null;
  #drained: (() => void) | null = null;
  #closed: Promise<void> | null = null;
  /**
   * What was written before may be lost in a power cut, and the system tells so once: the next sync
   * succeeds.
   */
  onUnsynced: (error: StoreError) => void = () => {};
  /** What was asked for beside commits, in its order. */
  readonly #asked: PromiseWithResolvers<unknown>[] = [];

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.on("message", (answer: CommitResult | Answered | Closed) => {
      if ("changes" in answer) this.#committed(answer);
      else if ("answer" in answer) this.#asked.shift()?.resolve(answer.answer);
      else if ("error" in answer) this.#asked.shift()?.reject(this.#toError(answer.error));
    });
    worker.on("error", (error: Error) => this.#lose(error));
  }

  /** Before all else. */
  open(file: SqliteFile): void {
    const request: OpenRequest = { role: "writer", file };
    this.#worker.postMessage(request);
  }

  /**
   * Resolves after the commit, with the rows changed by each statement.
   *
   * @throws StoreError where the unit was not committed
   */
  commit(unit: Unit): Promise<readonly number[]> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== null) return reject(this.#lost);
      const count = this.#gathered.push({ unit, resolve, reject });
      // At the end of this turn of the loop, so that what arrived together shares a commit.
      if (count === 1 && this.#underWay.length === 0) setImmediate(() => this.#send());
    });
  }

  /** Gives free pages back and keeps the WAL small. @throws StoreError */
  maintain(): Promise<StoreSize> {
    return this.#ask({ maintain: true });
  }

  /** Makes rows of the tables of what the ledger has, up to a row of it. @throws StoreError */
  apply(through: number): Promise<Applied> {
    return this.#ask({ apply: through });
  }

  /** Has on disk what was applied. @throws StoreError */
  sync(): Promise<void> {
    return this.#ask({ sync: true });
  }

  /** Commits made, and units in them, since the start. */
  counts(): { commits: number; units: number } {
    return { commits: this.#commits, units: this.#units };
  }

  /** For the store, and for the start that began it before there was one. */
  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    if (this.#underWay.length + this.#gathered.length > 0)
      await new Promise<void>((resolve) => (this.#drained = resolve));
    await closeThread(this.#worker);
  }

  #send(): void {
    if (this.#underWay.length > 0 || this.#gathered.length === 0) return;
    this.#underWay = this.#gathered;
    this.#gathered = [];
    this.#worker.postMessage(toRequest(this.#underWay, this.#known));
  }

  #committed(result: CommitResult): void {
    const done = this.#underWay;
    this.#underWay = [];
    this.#commits += 1;
    this.#units += done.length;
    this.#send();
    if (this.#underWay.length === 0) this.#drained?.();
    this.#settle(done, result);
  }

  #settle(done: readonly Waiting[], { changes, errors }: CommitResult): void {
    let at = 0;
    done.forEach(({ unit, resolve, reject }, index) => {
      const error = errors?.get(index);
      if (error !== undefined) reject(this.#toError(error));
      else resolve(changes.slice(at, at + unit.length));
      at += unit.length;
    });
  }

  #toError(found: UnitError): StoreError {
    const error = new StoreError(found);
    if (found.code === "SQLITE_IOERR_FSYNC") this.onUnsynced(error);
    return error;
  }

  #ask<Answer>(request: MaintainRequest | ApplyRequest | SyncRequest): Promise<Answer> {
    if (this.#lost !== null) return Promise.reject(this.#lost);
    const asked = Promise.withResolvers<unknown>();
    this.#asked.push(asked);
    this.#worker.postMessage(request);
    return asked.promise as Promise<Answer>;
  }

  #lose(error: Error): void {
    const lost = new Error(`The store's writer was lost: ${error.message}`, { cause: error });
    this.#lost = lost;
    for (const waiting of [...this.#underWay, ...this.#gathered]) waiting.reject(lost);
    this.#underWay = this.#gathered = [];
    for (const asked of this.#asked.splice(0)) asked.reject(lost);
    this.#drained?.();
  }
}

function lengthOf(waiting: readonly Waiting[]): number {
  let length = 0;
  for (const { unit } of waiting)
    for (const { parameters } of unit) length += 2 + parameters.length;
  return length;
}

function toRequest(waiting: readonly Waiting[], known: boolean[]): CommitRequest {
  const prepared: StatementText[] = [];
  const once: StatementText[] = [];
  const values = Array.from<unknown>({ length: lengthOf(waiting) });
  let at = 0;
  for (const { unit } of waiting)
    for (const { text, parameters } of unit) {
      const { number } = text;
      values[at++] = number ?? -once.push(text);
      if (number !== null && known[number] !== true) {
        known[number] = true;
        prepared.push(text);
      }
      values[at++] = parameters.length;
      for (const parameter of parameters) values[at++] = parameter;
    }
  return { prepared, once, sizes: waiting.map(({ unit }) => unit.length), values };
}
