import { closeSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
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
  /** Started and not ended. */
  readonly #running = new Set<string>();
  #fd: number | null = null;
  #lines = 0;

  constructor(data_dir: string) {
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
    const path = `${this.#path}.new`;
    const fd = openSync(path, "w", 0o600);
    writeSync(fd, `${[bootId(), ...this.#running].join("\n")}\n`);
    renameSync(path, this.#path);
    this.close();
    this.#fd = fd;
    this.#lines = this.#running.size;
  }

  /** It is handed to a thread now. */
  add(id: string): void {
    this.#running.add(id);
    if (this.#fd === null || this.#lines >= MOST_LINES) this.begin();
    else writeSync(this.#fd, `${id}\n`);
    this.#lines += 1;
  }

  /** Its ending is committed. */
  remove(id: string): void {
    this.#running.delete(id);
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
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
