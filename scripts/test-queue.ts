import { availableParallelism, cpus } from "node:os";

/** Starts test files beside each other: as many as keep the processors busy, and no more. */

/** A test file that waits for its turn. */
export interface Queued {
  /** Tests at a time that it counts for, or `alone`. */
  readonly weight: number | "alone";
  /** Resolves when it has ended. */
  run(): Promise<void>;
}

/** Tests at a time: a processor each, and some whose process starts or whose limit is waited for. */
export const LEAST = availableParallelism() + 2;
const MOST = availableParallelism() * 5;

/** How often the level follows what the processors do, in milliseconds. */
const INTERVAL_MS = 1000;
/** The share of their time that was left over: above it one more is started, below it one fewer. */
const IDLE = 0.15;
const BUSY = 0.03;

/**
 * Runs all: first those that need the machine for themselves, then the others in their order. Nobody
 * overtakes, so that what is heavy is not left for the end, where nothing is beside it.
 *
 * @param idleShare of all processors since it was asked last, from 0 to 1
 * @throws what the first of them that fails throws
 */
export async function runQueue(
  queue: readonly Queued[],
  idleShare: () => number = watchProcessors(),
): Promise<void> {
  for (const { run } of queue.filter(({ weight }) => weight === "alone")) await run();
  const waiting = queue.flatMap(({ weight, run }) => (weight === "alone" ? [] : [{ weight, run }]));
  if (waiting.length === 0) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let level = LEAST;
  let taken = 0;
  function startSome(): void {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const { weight, run } = next;
      if (taken > 0 && taken + weight > level) return;
      waiting.shift();
      taken += weight;
      run().then(() => {
        taken -= weight;
        startSome();
      }, reject);
    }
    if (taken === 0) resolve();
  }
  const timer = setInterval(() => {
    const idle = idleShare();
    if (idle > IDLE && waiting.length > 0) level = Math.min(level + 1, MOST);
    if (idle < BUSY) level = Math.max(level - 1, LEAST);
    startSome();
  }, INTERVAL_MS);
  startSome();
  await promise.finally(() => clearInterval(timer));
}

/** The share of their time, from 0 to 1, that all processors did nothing since the last question. */
function watchProcessors(): () => number {
  let before = readTimes();
  return () => {
    const now = readTimes();
    const share = (now.idle - before.idle) / Math.max(now.all - before.all, 1);
    before = now;
    return share;
  };
}

function readTimes(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((one) => one.times);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    idle: sum(times.map(({ idle }) => idle)),
    all: sum(times.flatMap((each) => Object.values(each))),
  };
}
