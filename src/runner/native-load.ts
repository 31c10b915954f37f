import { readdirSync, readFileSync } from "node:fs";

const TASKS = "/proc/self/task";
/** The kernel counts in hundredths of a second. */
const TICK_MS = 10;
/** Position of the time in a task's stat, behind its name. */
const USER_TIME = 11;

/**
 * Processor time of native calls: a few that are left behind take no place that anybody would wait
 * for, and burn all the same. Told by Linux alone.
 */
export class NativeLoad {
  #ms = 0;
  #at = performance.now();

  /** The cores that they have kept busy since the last call; 0 where the system does not tell. */
  measure(): number {
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
