import { readdirSync, readFileSync, stat } from "node:fs";

const TASKS = "/proc/self/task";
/** The kernel counts in hundredths of a second. */
const TICK_MS = 10;
/** Position of the time in a task's stat, behind its name. */
const USER_TIME = 11;

/**
 * Native calls of all threads of a process share one pool: a flow that leaves long ones behind
 * would let everybody else's wait. A few take no place that anybody would wait for, and burn all
 * the same.
 */
export class NativeCalls {
  #askedAt: number | null = null;
  #ms = 0;
  #at = performance.now();

  /** Milliseconds that the latest short call has waited without an answer; 0 where none is out. */
  get waitedMs(): number {
    return this.#askedAt === null ? 0 : Math.round(performance.now() - this.#askedAt);
  }

  /** Makes a short one again, unless an answer is still to come. */
  ask(): void {
    if (this.#askedAt !== null) return;
    this.#askedAt = performance.now();
    stat(".", () => (this.#askedAt = null));
  }

  /** The cores that they have kept busy since the last measure; 0 where the system is not Linux. */
  measureCores(): number {
    const now = performance.now();
    const ms = readTimes();
    const cores = (ms - this.#ms) / (now - this.#at);
    this.#ms = ms;
    this.#at = now;
    return Math.max(0, cores);
  }
}

function readTimes(): number {
  try {
    return readdirSync(TASKS).reduce((sum, task) => sum + readTime(task), 0);
  } catch {
    return 0;
  }
}

/** 0 for a thread that makes no native calls, or has just ended. */
function readTime(task: string): number {
  try {
    const [name = "", rest = ""] = readFileSync(`${TASKS}/${task}/stat`, "latin1").split(") ");
    if (!name.endsWith("(libuv-worker")) return 0;
    return Number(rest.split(" ")[USER_TIME]) * TICK_MS;
  } catch {
    return 0;
  }
}
