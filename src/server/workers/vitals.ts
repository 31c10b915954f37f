import { mostOpenFiles, openFiles, residentBytes } from "./process-figures.ts";

const WATCH_MS = 250;

/** A short native call that waits so long tells of others that hold all places; milliseconds. */
const NATIVE_SLOW_MS = 2_000;
const NATIVE_TAKEN_MS = 10_000;

export interface VitalsOptions {
  readonly pid: number;
  /** Resident memory above which the process takes no more runs; a quarter more ends it. */
  readonly memory_bytes: number;
  /** Longest silence while it has something to do. */
  readonly silence_ms: number;
  isBusy(): boolean;
  /** It is to take no more runs. */
  onWeak(): void;
  /** @param why completes "which was ended because" */
  onFatal(why: string): void;
}

/** Watches a runner's memory, open files and native calls, and whether it still speaks. */
export class Vitals {
  readonly #options: VitalsOptions;
  readonly #timer: NodeJS.Timeout;
  #silent_ms = 0;
  /** Of the files and sockets that it may have open. */
  #most_files: number | null = null;
  rss_bytes = 0;
  /** Whether native calls of one version hold up those of all others. */
  is_native_taken = false;

  constructor(options: VitalsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#watch(), WATCH_MS);
  }

  /** It said something. */
  hear(): void {
    this.#silent_ms = 0;
  }

  measure(rss_bytes: number): void {
    const { memory_bytes, onWeak, onFatal } = this.#options;
    this.rss_bytes = rss_bytes;
    if (rss_bytes > memory_bytes) onWeak();
    if (rss_bytes > memory_bytes * 1.25)
      onFatal(`it used ${Math.round(rss_bytes / 2 ** 20)} MB of memory`);
  }

  /** Native calls have one line for all threads; some that are left behind hold it for hours. */
  measureNative(wait_ms: number): void {
    this.is_native_taken = wait_ms > NATIVE_SLOW_MS;
    if (this.is_native_taken) this.#options.onWeak();
    if (wait_ms > NATIVE_TAKEN_MS)
      this.#options.onFatal(`native calls held it up for ${NATIVE_TAKEN_MS / 1000} s`);
  }

  /** What a flow opened and left is closed with its runner, before others have none left. */
  #countFiles(pid: number): void {
    this.#most_files ??= mostOpenFiles(pid);
    const open = openFiles(pid);
    if (open !== null && this.#most_files !== null && open > this.#most_files / 2)
      this.#options.onWeak();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Ticks are counted, not time: a server that was stopped itself must not blame the runner. */
  #watch(): void {
    const { pid, silence_ms, isBusy, onFatal } = this.#options;
    const measured = isBusy() ? residentBytes(pid) : null;
    if (measured !== null) this.measure(measured);
    this.#countFiles(pid);
    this.#silent_ms = isBusy() ? this.#silent_ms + WATCH_MS : 0;
    if (this.#silent_ms >= silence_ms) onFatal(`it was silent for ${silence_ms / 1000} s`);
  }
}
