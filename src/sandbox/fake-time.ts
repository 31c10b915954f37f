import { createRequire } from "node:module";
import { fakeClocks } from "./fake-clocks.ts";

/**
 * The clock of an author's test: it stands at a time, and goes on with the timers of the flow, which
 * end without being waited for, in their order. What the flow waits for elsewhere (the network, a
 * file, an operation) comes first.
 */

interface Timer {
  at: number;
  readonly ms: number;
  /** Whether it begins anew each time. */
  readonly isInterval: boolean;
  readonly act: () => void;
}

const require = createRequire(import.meta.url);
const real = { setImmediate, setTimeout, resources: process.getActiveResourcesInfo.bind(process) };
/** What keeps the thread alive whatever the flow does. */
const OWN = new Set(["MessagePort", "Immediate", "Timeout", "TTYWrap", "PipeWrap"]);
const BUSY_MS = 5;

let now = 0;
let isAsking = (): boolean => false;
const timers = new Set<Timer>();
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
  return new FakeTimer(add(ms, false, () => act(...given)));
}

function fakeInterval(act: Act, ms?: number, ...given: unknown[]): FakeTimer {
  return new FakeTimer(add(ms, true, () => act(...given)));
}

function clear(timer: unknown): void {
  if (timer instanceof FakeTimer) timer.close();
}

/** As much of a timer as flows use. */
class FakeTimer {
  readonly timer: Timer;
  #isClosed = false;

  constructor(timer: Timer) {
    this.timer = timer;
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
    timers.delete(this.timer);
    return this;
  }

  /** Also one that has ended begins anew; one that was cleared does not. */
  refresh(): this {
    if (!this.#isClosed) begin(this.timer);
    return this;
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
    const timer = add(ms, false, () => resolve(value));
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
  add(ms, false, () => controller.abort(new DOMException(message, "TimeoutError")));
  return controller.signal;
}

function abortOf({ reason }: AbortSignal): Error {
  return Object.assign(new Error("The operation was aborted", { cause: reason }), {
    name: "AbortError",
    code: "ABORT_ERR",
  });
}

function add(ms: number | undefined, isInterval: boolean, act: () => void): Timer {
  return begin({ at: 0, ms: atLeastOne(ms), isInterval, act });
}

/** Behind others that end at the same time. */
function begin(timer: Timer): Timer {
  timer.at = now + timer.ms;
  timers.delete(timer);
  timers.add(timer);
  schedule();
  return timer;
}

function atLeastOne(ms: number | undefined): number {
  return ms !== undefined && ms >= 1 ? Math.trunc(ms) : 1;
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
  timers.delete(first);
  if (first.isInterval) begin(first);
  try {
    first.act();
  } finally {
    schedule();
  }
}

function isBusy(): boolean {
  return isAsking() || real.resources().some((name) => !OWN.has(name));
}
