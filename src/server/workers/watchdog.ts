import { mostOpenFiles, openFiles, residentBytes } from "./process-figures.ts";

const WATCH_MS = 250;

/** A short native call that waits so long tells of others that hold all places; milliseconds. */
const NATIVE_SLOW_MS = 2_000;
const NATIVE_TAKEN_MS = 10_000;

export interface WatchdogOptions {
  readonly pid: number;
  /** Resident memory above which the process takes no more runs; a quarter more ends it. */
  readonly memoryBytes: number;
  /** Longest silence while it has something to do. */
  readonly silenceMs: number;
  isBusy(): boolean;
  /** It is to take no more runs. */
  onWeak(): void;
  /** @param why completes "which was ended because" */
  onFatal(why: string): void;
}

/** Watches a runner's memory, open files and native calls, and whether it still speaks. */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #timer: NodeJS.Timeout;
  #silentMs = 0;
  /** Of the files and sockets that it may have open. */
  #mostFiles: number | null = null;
  rss_bytes = 0;
  /** Whether native calls of one version hold up those of all others. */
  isNativeTaken = false;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#watch(), WATCH_MS);
  }

  /** It said something. */
  hear(): void {
    this.#silentMs = 0;
  }

  measure(rss_bytes: number): void {
    const { memoryBytes, onWeak, onFatal } = this.#options;
    this.rss_bytes = rss_bytes;
    if (rss_bytes > memoryBytes) onWeak();
    if (rss_bytes > memoryBytes * 1.25)
      onFatal(`it used ${Math.round(rss_bytes / 2 ** 20)} MB of memory`);
  }

  /** Native calls have one line for all threads; some that are left behind hold it for hours. */
  measureNative(waitMs: number): void {
    this.isNativeTaken = waitMs > NATIVE_SLOW_MS;
    if (this.isNativeTaken) this.#options.onWeak();
    if (waitMs > NATIVE_TAKEN_MS)
      this.#options.onFatal(`native calls held it up for ${NATIVE_TAKEN_MS / 1000} s`);
  }

  /** What a flow opened and left is closed with its runner, before others have none left. */
  #countFiles(pid: number): void {
    this.#mostFiles ??= mostOpenFiles(pid);
    const open = openFiles(pid);
    if (open !== null && this.#mostFiles !== null && open > this.#mostFiles / 2)
      this.#options.onWeak();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Ticks are counted, not time: a server that was stopped itself must not blame the runner. */
  #watch(): void {
    const { pid, silenceMs, isBusy, onFatal } = this.#options;
    const measured = isBusy() ? residentBytes(pid) : null;
    if (measured !== null) this.measure(measured);
    this.#countFiles(pid);
    this.#silentMs = isBusy() ? this.#silentMs + WATCH_MS : 0;
    if (this.#silentMs >= silenceMs) onFatal(`it was silent for ${silenceMs / 1000} s`);
  }
}
