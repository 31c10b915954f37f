import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { StoreFault } from "./fault.ts";
import type {
  CommitRequest,
  Statement,
  StoreSize,
  StoreThreadData,
  Unit,
  UnitFault,
  UnitResult,
} from "./thread-protocol.ts";

/** The committing writer: at most one commit is under way; what arrives meanwhile is the next. */
export interface Writer {
  /**
   * Resolves after the commit, with the rows changed by each statement.
   *
   * @throws StoreFault where the unit was not committed
   */
  commit(unit: Unit): Promise<readonly number[]>;
  /** @throws StoreFault */
  maintain(): Promise<StoreSize>;
  /** Commits made, and units in them, since the start. */
  counts(): { commits: number; units: number };
  [Symbol.asyncDispose](): Promise<void>;
}

interface Waiting {
  readonly unit: Unit;
  resolve(changes: readonly number[]): void;
  reject(fault: Error): void;
}

export async function openWriter(thread: string, data: StoreThreadData): Promise<Writer> {
  const worker = new Worker(thread, { workerData: data, env: {}, execArgv: [] });
  await once(worker, "online");
  return gatherCommits(worker);
}

function gatherCommits(worker: Worker): Writer {
  const texts = new Map<string, number>();
  let gathered: Waiting[] = [];
  let underWay: Waiting[] = [];
  let commits = 0;
  let units = 0;
  let lost: Error | null = null;
  let drained: (() => void) | null = null;
  let maintained: PromiseWithResolvers<StoreSize> | null = null;

  worker.on("message", (results: readonly UnitResult[] | StoreSize | UnitFault) => {
    if (!Array.isArray(results)) {
      if ("code" in results) maintained?.reject(new StoreFault(results));
      else maintained?.resolve(results as StoreSize);
      maintained = null;
      return;
    }
    const done = underWay;
    underWay = [];
    commits += 1;
    units += done.length;
    if (gathered.length > 0) send();
    else drained?.();
    settle(done, results);
  });
  worker.on("error", (fault: Error) => {
    lost = new Error(`The store's writer was lost: ${fault.message}`, { cause: fault });
    for (const waiting of [...underWay, ...gathered]) waiting.reject(lost);
    underWay = gathered = [];
    drained?.();
  });

  function send(): void {
    underWay = gathered;
    gathered = [];
    worker.postMessage(toRequest(underWay, texts));
  }

  return {
    commit(unit) {
      return new Promise((resolve, reject) => {
        if (lost !== null) return reject(lost);
        gathered.push({ unit, resolve, reject });
        // A microtask later, so that what one turn of the loop asks for shares a commit.
        if (underWay.length === 0 && gathered.length === 1)
          queueMicrotask(() => {
            if (underWay.length === 0 && gathered.length > 0) send();
          });
      });
    },
    maintain() {
      if (maintained === null) {
        maintained = Promise.withResolvers<StoreSize>();
        worker.postMessage({ maintain: true });
      }
      return maintained.promise;
    },
    counts: () => ({ commits, units }),
    async [Symbol.asyncDispose]() {
      if (underWay.length + gathered.length > 0)
        await new Promise<void>((resolve) => (drained = resolve));
      await worker.terminate();
    },
  };
}

function settle(done: readonly Waiting[], results: readonly UnitResult[]): void {
  done.forEach((waiting, index) => {
    const result = results[index] as UnitResult;
    if ("code" in result) waiting.reject(new StoreFault(result));
    else waiting.resolve(result);
  });
}

function toRequest(waiting: readonly Waiting[], known: Map<string, number>): CommitRequest {
  const texts: [number, string][] = [];
  const number = (sql: string): number => {
    let found = known.get(sql);
    if (found === undefined) {
      found = known.size;
      known.set(sql, found);
      texts.push([found, sql]);
    }
    return found;
  };
  const units = waiting.map(({ unit }) => unit.map((statement) => toEntry(statement, number)));
  return { texts, units };
}

function toEntry(
  { sql, parameters, expect }: Statement,
  number: (sql: string) => number,
): readonly [number, readonly unknown[], string?] {
  return expect === undefined ? [number(sql), parameters] : [number(sql), parameters, expect];
}
