import { residentBytes } from "./memory.ts";

const WATCH_MS = 250;

export interface VitalsOptions {
  readonly pid: number;
  /** Resident memory above which the process takes no more runs; a quarter more ends it. */
  readonly memory_bytes: number;
  /** Longest silence while it has something to do. */
  readonly silence_ms: number;
  isBusy(): boolean;
  onLarge(): void;
  /** @param why completes "which was ended because" */
  onFatal(why: string): void;
}

/** Watches a runner's memory and whether it still speaks. */
export class Vitals {
  readonly #options: VitalsOptions;
  readonly #timer: NodeJS.Timeout;
  #silent_ms = 0;
  rss_bytes = 0;

  constructor(options: VitalsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#watch(), WATCH_MS);
  }

  /** It said something. */
  hear(): void {
    this.#silent_ms = 0;
  }

  measure(rss_bytes: number): void {
    const { memory_bytes, onLarge, onFatal } = this.#options;
    this.rss_bytes = rss_bytes;
    if (rss_bytes > memory_bytes) onLarge();
    if (rss_bytes > memory_bytes * 1.25)
      onFatal(`it used ${Math.round(rss_bytes / 2 ** 20)} MB of memory`);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Ticks are counted, not time: a server that was stopped itself must not blame the runner. */
  #watch(): void {
    const { pid, silence_ms, isBusy, onFatal } = this.#options;
    const measured = isBusy() ? residentBytes(pid) : null;
    if (measured !== null) this.measure(measured);
    this.#silent_ms = isBusy() ? this.#silent_ms + WATCH_MS : 0;
    if (this.#silent_ms >= silence_ms) onFatal(`it was silent for ${silence_ms / 1000} s`);
  }
}
