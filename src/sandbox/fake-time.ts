import { createRequire } from "node:module";
import { fakeClocks } from "./fake-clocks.ts";

/**
 * The clock of an author's test: it stands at a time, and goes on with the timers of the flow, which
 * end without being waited for, in their order. What the flow waits for elsewhere (the network, a
 * file, an operation) comes first.
 */

const require = createRequire(import.meta.filename);
const real = { setImmediate, setTimeout, resources: process.getActiveResourcesInfo.bind(process) };
/** What keeps the thread alive whatever the flow does. */
const OWN = new Set(["MessagePort", "Immediate", "Timeout", "TTYWrap", "PipeWrap"]);
const BUSY_MS = 5;

let now = 0;
let isAsking = (): boolean => false;
const timers = new Set<FakeTimer>();
let isScheduled = false;

/**
 * Call before any code of the flow is loaded.
 *
 * @param start milliseconds since the epoch
 * @param hasOperations whether the flow waits for one
 */
export function fakeTime(start: number, hasOperations: () => boolean): void {
  now = start;
  isAsking = hasOperations;
  fakeClocks(() => now);
  const global = {
    setTimeout: fakeTimeout,
    setInterval: fakeInterval,
    clearTimeout: clear,
    clearInterval: clear,
  };
  Object.assign(globalThis, global);
  Object.assign(require("node:timers") as object, global);
  const promises = require("node:timers/promises") as { scheduler: object };
  Object.assign(promises, { setTimeout: wait, setInterval: ticks });
  Object.defineProperty(promises.scheduler, "wait", {
    value: (ms: number, options?: Options) => wait(ms, undefined, options),
    configurable: true,
  });
  Object.defineProperty(fakeTimeout, Symbol.for("nodejs.util.promisify.custom"), { value: wait });
  AbortSignal.timeout = abortAfter;
}

type Act = (...given: unknown[]) => void;

function fakeTimeout(act: Act, ms?: number, ...given: unknown[]): FakeTimer {
  return new FakeTimer(ms, () => act(...given)).refresh();
}

function fakeInterval(act: Act, ms?: number, ...given: unknown[]): FakeTimer {
  return new FakeTimer(ms, () => act(...given), true).refresh();
}

function clear(timer: unknown): void {
  if (timer instanceof FakeTimer) timer.close();
}

/** As much of a timer as flows use. */
class FakeTimer {
  readonly #ms: number;
  readonly #act: () => void;
  /** Whether it begins anew each time. */
  readonly #isInterval: boolean;
  #isClosed = false;
  /** When it ends. */
  at = 0;

  constructor(ms: number | undefined, act: () => void, isInterval = false) {
    this.#ms = ms !== undefined && ms >= 1 ? Math.trunc(ms) : 1;
    this.#act = act;
    this.#isInterval = isInterval;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  close(): this {
    this.#isClosed = true;
    timers.delete(this);
    return this;
  }

  /**
   * Begins behind others that end at the same time. Also one that has ended begins anew; one that was
   * cleared does not.
   */
  refresh(): this {
    if (this.#isClosed) return this;
    this.at = now + this.#ms;
    timers.delete(this);
    timers.add(this);
    schedule();
    return this;
  }

  end(): void {
    timers.delete(this);
    if (this.#isInterval) this.refresh();
    this.#act();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

interface Options {
  readonly signal?: AbortSignal;
}

function wait(ms?: number, value?: unknown, { signal }: Options = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(abortOf(signal));
    const timer = new FakeTimer(ms, () => resolve(value)).refresh();
    signal?.addEventListener("abort", () => {
      if (timers.delete(timer)) reject(abortOf(signal));
    });
  });
}

async function* ticks(ms?: number, value?: unknown, options?: Options): AsyncGenerator<unknown> {
  for (;;) {
    await wait(ms, undefined, options);
    yield value;
  }
}

function abortAfter(ms: number): AbortSignal {
  const controller = new AbortController();
  const message = "The operation was aborted due to timeout";
  const act = (): void => controller.abort(new DOMException(message, "TimeoutError"));
  new FakeTimer(ms, act).refresh();
  return controller.signal;
}

function abortOf({ reason }: AbortSignal): Error {
  return Object.assign(new Error("The operation was aborted", { cause: reason }), {
    name: "AbortError",
    code: "ABORT_ERR",
  });
}

function schedule(): void {
  if (isScheduled || timers.size === 0) return;
  isScheduled = true;
  real.setImmediate(step);
}

/** Ends the first timer, unless something else is under way. */
function step(): void {
  if (isBusy()) return void real.setTimeout(step, BUSY_MS);
  isScheduled = false;
  const [first] = [...timers].sort((a, b) => a.at - b.at);
  if (first === undefined) return;
  now = Math.max(now, first.at);
  try {
    first.end();
  } finally {
    schedule();
  }
}

function isBusy(): boolean {
  return isAsking() || real.resources().some((name) => !OWN.has(name));
}
