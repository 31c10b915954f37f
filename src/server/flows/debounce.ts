import { now } from "../../shared/clock.ts";
import { QUIET_MS } from "./sources.ts";

/** Events that never pause hold a pass up no longer than this, in milliseconds. */
const EVENTS_MAX_MS = 2000;

/** Decides when to look at PLUGINS_DIR: never twice at once, and not amid a burst of events. */
export class Debounce {
  readonly #pass: () => Promise<void>;
  readonly #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #due = Infinity;
  #firstEvent: number | null = null;
  #working = 0;
  #isPassing = false;
  #isAsked = false;
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
      this.#working--;
      if (this.#isIdle()) for (const resolve of this.#waiting.splice(0)) resolve();
    };
    this.#working++;
    work.then(done, done);
  }

  /** Resolves when no pass is due and no work is in progress. */
  async idle(): Promise<void> {
    if (!this.#isIdle()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** No more passes; resolves when the work has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#isAsked = false;
    this.#clear();
    await this.idle();
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
    return this.#working === 0 && this.#timer === undefined;
  }

  async #run(): Promise<void> {
    this.#isPassing = true;
    while (this.#isAsked) {
      this.#isAsked = false;
      await this.#pass();
    }
    this.#isPassing = false;
  }
}
