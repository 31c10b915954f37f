import { readFileSync, statSync } from "node:fs";

const PAGE_BYTES = 4096;

/** Resident memory of a process where the system tells it (Linux); null elsewhere. */
export function residentBytes(pid: number): number | null {
  try {
    const pages = readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1];
    return Number(pages) * PAGE_BYTES;
  } catch {
    return null;
  }
}

/** Open files and sockets of a process: Linux since 6.2 tells their number; null elsewhere. */
export function openFiles(pid: number): number | null {
  try {
    return statSync(`/proc/${pid}/fd`).size || null;
  } catch {
    return null;
  }
}

/** How many it may have open; null where the system does not tell. */
export function mostOpenFiles(pid: number): number | null {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, "latin1");
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1]) || null;
  } catch {
    return null;
  }
}
