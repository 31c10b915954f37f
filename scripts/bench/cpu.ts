import { readdirSync, readFileSync } from "node:fs";

/** CPU time by thread since its start, out of /proc/PID/task/TID/schedstat: Linux only. */

interface CpuTime {
  readonly pid: number;
  readonly label: string;
  readonly us: number;
}

export type CpuTimes = ReadonlyMap<string, CpuTime>;

/** @param processes the program of each, by its number */
export function readCpu(processes: ReadonlyMap<number, string>): CpuTimes {
  if (process.platform !== "linux") return new Map();
  return new Map([...processes].flatMap(([pid, program]) => readProcess(pid, program)));
}

/** Time of all processors since their start, in ticks. */
export interface MachineTimes {
  readonly all: number;
  /** Nobody had anything to do. */
  readonly idle: number;
  /** Other machines of the same host had them. */
  readonly stolen: number;
}

/** Out of the first line of /proc/stat; null where there is none. */
export function readMachine(): MachineTimes | null {
  if (process.platform !== "linux") return null;
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  // user nice system idle iowait irq softirq steal; what follows is part of the first two.
  const times = line.split(/\s+/).slice(1, 9).map(Number);
  const all = times.reduce((sum, time) => sum + time, 0);
  return { all, idle: times[3] ?? 0, stolen: times[7] ?? 0 };
}

/** Shares of the time between two readings, in percent. */
export function toShares(
  before: MachineTimes | null,
  after: MachineTimes | null,
): { idle_percent: number | null; stolen_percent: number | null } {
  if (before === null || after === null) return { idle_percent: null, stolen_percent: null };
  const share = (of: "idle" | "stolen"): number =>
    (100 * (after[of] - before[of])) / Math.max(1, after.all - before.all);
  return { idle_percent: share("idle"), stolen_percent: share("stolen") };
}

type Entry = readonly [string, CpuTime];

/** Its threads, and what those have used that are no more: the process knows the sum. */
function readProcess(pid: number, program: string): Entry[] {
  try {
    const threads = readThreads(pid, program);
    // What has one thread never had another, and the kernel tells the sum in whole ticks alone.
    if (threads.length === 1) return threads;
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [user, system] = stat.slice(stat.lastIndexOf(")")).split(" ").slice(12, 14).map(Number);
    const all = (Number(user) + Number(system)) * TICK_US;
    const ended = threads.reduce((rest, [, { us }]) => rest - us, all);
    return [...threads, [keyOfEnded(pid), { pid, label: `${program} ended`, us: ended }]];
  } catch {
    return []; // The process has just ended.
  }
}

const keyOfEnded = (pid: number): string => `${pid} ended`;

/** Of the kernel's clock for processes, which all architectures of Linux have the same. */
const TICK_US = 10_000;

function readThreads(pid: number, program: string): Entry[] {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).flatMap((tid): Entry[] => {
    try {
      const name = readFileSync(`${folder}/${tid}/comm`, "utf8").trim();
      const [ns] = readFileSync(`${folder}/${tid}/schedstat`, "utf8").split(" ");
      const label = `${program} ${tid === String(pid) ? "main" : name.replace(/^node-/, "")}`;
      return [[tid, { pid, label, us: Number(ns) / 1000 }]];
    } catch {
      return []; // The thread has just ended.
    }
  });
}

/** Microseconds a call, by thread; threads of one name are one. */
export function toCpuPerCall(
  before: CpuTimes,
  after: CpuTimes,
  calls: number,
): Record<string, number> {
  const sums: Record<string, number> = {};
  const add = (label: string, us: number): void => {
    sums[label] = (sums[label] ?? 0) + us / calls;
  };
  for (const [tid, { label, us }] of after) add(label, us - (before.get(tid)?.us ?? 0));
  // Of a thread that has ended since, the process counts its whole life.
  for (const [tid, { pid, us }] of before) {
    const ended = after.has(tid) ? undefined : after.get(keyOfEnded(pid));
    if (ended !== undefined) add(ended.label, -us);
  }
  return sums;
}
