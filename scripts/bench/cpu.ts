import { readdirSync, readFileSync } from "node:fs";

/** CPU time by thread since its start, out of /proc/PID/task/TID/schedstat: Linux only. */

export type CpuTimes = ReadonlyMap<string, { readonly label: string; readonly us: number }>;

/** @param pids the server, then its children */
export function readCpu(pids: readonly number[]): CpuTimes {
  if (process.platform !== "linux") return new Map();
  return new Map(pids.flatMap((pid, place) => readThreads(pid, place === 0 ? "server" : "runner")));
}

function readThreads(pid: number, program: string) {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).flatMap((tid) => {
    try {
      const name = readFileSync(`${folder}/${tid}/comm`, "utf8").trim();
      const [ns] = readFileSync(`${folder}/${tid}/schedstat`, "utf8").split(" ");
      const label = `${program} ${tid === String(pid) ? "main" : name.replace(/^node-/, "")}`;
      return [[tid, { label, us: Number(ns) / 1000 }] as const];
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
  for (const [tid, { label, us }] of after)
    sums[label] = (sums[label] ?? 0) + (us - (before.get(tid)?.us ?? 0)) / calls;
  return sums;
}
