import { closeSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { now } from "../lib/clock.ts";

/**
 * Which of the executions that are marked RUNNING were really handed to a thread. The mark is
 * committed before, and sometimes a little ahead; after a kill this file tells what had started
 * and what can still be run. It is written without waiting for the disk: it outlives a kill of
 * the process, and after a power cut it is not believed.
 */
export class StartedFile {
  readonly #path: string;
  /** Those that have started and not ended. */
  readonly #listRunning: () => string[];
  /** In this turn, and not yet written. */
  #added: string[] = [];
  #fd: number | null = null;
  #lines = 0;

  /** @param listRunning ids of all that were added and whose ending is not committed */
  constructor(data_dir: string, listRunning: () => string[]) {
    this.#listRunning = listRunning;
    this.#path = join(data_dir, "started.log");
  }

  /** What had started when the service stopped last; null where that cannot be known. */
  readEarlier(): ReadonlySet<string> | null {
    try {
      const [boot, ...ids] = readFileSync(this.#path, "utf8").split("\n");
      return boot === bootId() ? new Set(ids) : null;
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw fault;
    }
  }

  /** Begins anew; what is read by `readEarlier` is gone then. */
  begin(): void {
    this.#attempt(() => this.#writeAll());
  }

  /**
   * It is handed to a runner in this turn of the event loop. Those of one turn are written at its
   * end; what is sent to a runner leaves after it (runner/channel.ts).
   */
  add(id: string): void {
    if (this.#added.push(id) === 1) process.nextTick(() => this.#attempt(() => this.#append()));
  }

  #append(): void {
    const ids = this.#added;
    this.#added = [];
    if (this.#fd === null || this.#lines >= MOST_LINES) return this.#writeAll();
    write(this.#fd, `${ids.join("\n")}\n`);
    this.#lines += ids.length;
  }

  /**
   * The disk may be full. Better nothing than too little: without the file, everything that is
   * marked counts as started, and is not run again.
   */
  #attempt(act: () => void): void {
    try {
      act();
    } catch {
      this.close();
      rmSync(this.#path, { force: true });
      rmSync(`${this.#path}.new`, { force: true });
    }
  }

  #writeAll(): void {
    this.close();
    this.#fd = openSync(`${this.#path}.new`, "w", 0o600);
    const running = this.#listRunning();
    write(this.#fd, `${[bootId(), ...running].join("\n")}\n`);
    renameSync(`${this.#path}.new`, this.#path);
    this.#lines = running.length;
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

/** @throws {Error} also where only a part of it found room */
function write(fd: number, text: string): void {
  if (writeSync(fd, text) < Buffer.byteLength(text)) throw new Error("The disk is full");
}

/** About 4 MB; then the file begins anew with what runs. */
const MOST_LINES = 100_000;

/** Names this run of the machine: what was written before a power cut may be lost. */
function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    const booted_at = now() / 1000 - uptime();
    return `booted in minute ${Math.round(booted_at / 60)}`;
  }
}
