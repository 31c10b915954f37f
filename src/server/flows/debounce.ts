import { now } from "../../shared/clock.ts";
import { QUIET_MS } from "./sources.ts";

/** Events that never pause hold a pass up no longer than this, in milliseconds. */
const EVENTS_MAX_MS = 2000;
/** Files that never rest hold nobody up who waits for them longer than this, in milliseconds. */
const SETTLE_MAX_MS = 5000;

/** Decides when to look at PLUGINS_DIR: never twice at once, and not amid a burst of events. */
export class Debounce {
  readonly #pass: () => Promise<void>;
  readonly #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #due = Infinity;
  #firstEvent: number | null = null;
  readonly #works = new Set<Promise<void>>();
  #isPassing = false;
  #isAsked = false;
  /** Whether a pass was asked for that follows the last one: something had not come to rest. */
  #isResting = false;
  /** How many have begun. */
  #passes = 0;
  /** Resolves at the end of the pass that begins next. */
  #next = Promise.withResolvers<void>();
  #isStopped = false;

  /** @param pass Handles its own errors. */
  constructor(pass: () => Promise<void>) {
    this.#pass = pass;
  }

  /** Something changed: a pass once it has been quiet for QUIET_MS. */
  changed(): void {
    this.#firstEvent ??= now();
    this.#at(Math.min(now() + QUIET_MS, this.#firstEvent + EVENTS_MAX_MS));
  }

  /** A pass after so many milliseconds at the latest. */
  after(ms: number): void {
    this.#isResting = !this.#isStopped;
    if (now() + ms < this.#due) this.#at(now() + ms);
  }

  /** A pass at once, or right after the one that runs. */
  immediately(): void {
    this.#clear();
    this.#firstEvent = null;
    this.#isAsked = !this.#isStopped;
    if (this.#isAsked && !this.#isPassing) this.during(this.#run());
  }

  /** Counts work that `idle` waits for. The work handles its own errors. */
  during(work: Promise<void>): void {
    const done = () => {
      this.#works.delete(work);
      if (this.#isIdle()) for (const resolve of this.#waiting.splice(0)) resolve();
    };
    this.#works.add(work);
    work.then(done, done);
  }

  /** Resolves when no pass is due and no work is in progress. */
  async idle(): Promise<void> {
    if (!this.#isIdle()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Resolves when what was there has been taken up. Events that come meanwhile, which may never
   * end, are not waited for.
   */
  async settled(): Promise<void> {
    const until = performance.now() + SETTLE_MAX_MS;
    let passes;
    do {
      if (this.#isAsked || this.#isResting) await this.#next.promise;
      passes = this.#passes;
      // The pass, and then what it began.
      await Promise.allSettled(this.#works);
      await Promise.allSettled(this.#works);
      // Where another has begun meanwhile, what it began is not waited for yet.
    } while ((this.#isResting || this.#passes !== passes) && performance.now() < until);
  }

  /** No more passes; resolves when the work has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#isAsked = false;
    this.#isResting = false;
    this.#clear();
    await this.idle();
    this.#next.resolve();
  }

  #at(time: number): void {
    this.#clear();
    if (this.#isStopped) return;
    this.#due = time;
    this.#timer = setTimeout(() => this.immediately(), Math.max(0, time - now()));
  }

  #clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#due = Infinity;
  }

  #isIdle(): boolean {
    return this.#works.size === 0 && this.#timer === undefined;
  }

  async #run(): Promise<void> {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers<void>();
    this.#isPassing = true;
    this.#passes += 1;
    this.#isAsked = false;
    this.#isResting = false;
    await this.#pass();
    this.#isPassing = false;
    resolve();
    if (this.#isAsked) this.during(this.#run());
  }
}
