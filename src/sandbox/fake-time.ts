import { createRequire } from "node:module";

/**
 * The clock of an author's test: it stands at a time, and goes on with the timers of the flow, which
 * end without being waited for, in their order. What the flow waits for elsewhere (the network, a
 * file, an operation) comes first.
 */

interface Timer {
  at: number;
  /** Of an interval: milliseconds between two. */
  readonly every: number | null;
  readonly act: () => void;
}

const require = createRequire(import.meta.url);
const RealDate = Date;
const real = { setImmediate, setTimeout, resources: process.getActiveResourcesInfo.bind(process) };
/** What keeps the thread alive whatever the flow does. */
const OWN = new Set(["MessagePort", "Immediate", "Timeout", "TTYWrap", "PipeWrap"]);
const BUSY_MS = 5;

let now = 0;
const timers = new Set<Timer>();
let isScheduled = false;

/** Call before any code of the flow is loaded. @param start milliseconds since the epoch */
export function fakeTime(start: number): void {
  now = start;
  const global = {
    setTimeout: fakeTimeout,
    setInterval: fakeInterval,
    clearTimeout: clear,
    clearInterval: clear,
  };
  Object.assign(globalThis, global, { Date: fakeDate() });
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

function fakeDate(): DateConstructor {
  RealDate.now = () => now;
  return new Proxy(RealDate, {
    construct: (target, given: unknown[], made) =>
      Reflect.construct(target, given.length === 0 ? [now] : given, made) as object,
    apply: () => new RealDate(now).toString(),
  });
}

type Act = (...given: unknown[]) => void;

function fakeTimeout(act: Act, ms?: number, ...given: unknown[]): FakeTimer {
  return new FakeTimer(add(ms, null, () => act(...given)));
}

function fakeInterval(act: Act, ms?: number, ...given: unknown[]): FakeTimer {
  return new FakeTimer(add(ms, atLeastOne(ms), () => act(...given)));
}

function clear(timer: unknown): void {
  if (timer instanceof FakeTimer) timers.delete(timer.timer);
}

/** As much of a timer as flows use. */
class FakeTimer {
  readonly timer: Timer;

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
    timers.delete(this.timer);
    return this;
  }

  refresh(): this {
    return this;
  }

  [Symbol.dispose](): void {
    timers.delete(this.timer);
  }
}

interface Options {
  readonly signal?: AbortSignal;
}

function wait(ms?: number, value?: unknown, { signal }: Options = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(abortOf(signal));
    const timer = add(ms, null, () => resolve(value));
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
  add(ms, null, () => controller.abort(new DOMException(message, "TimeoutError")));
  return controller.signal;
}

function abortOf({ reason }: AbortSignal): Error {
  return Object.assign(new Error("The operation was aborted", { cause: reason }), {
    name: "AbortError",
    code: "ABORT_ERR",
  });
}

function add(ms: number | undefined, every: number | null, act: () => void): Timer {
  const timer = { at: now + atLeastOne(ms), every, act };
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
  if (real.resources().some((name) => !OWN.has(name))) return void real.setTimeout(step, BUSY_MS);
  isScheduled = false;
  const [first] = [...timers].sort((a, b) => a.at - b.at);
  if (first === undefined) return;
  now = Math.max(now, first.at);
  if (first.every === null) timers.delete(first);
  else first.at = now + first.every;
  try {
    first.act();
  } finally {
    schedule();
  }
}
