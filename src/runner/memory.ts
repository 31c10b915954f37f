import { readFileSync } from "node:fs";

const PAGE_BYTES = 4096;

/** Resident memory of a process where the system tells it (Linux), null elsewhere. */
export function residentBytes(pid: number): number | null {
  if (process.platform !== "linux") return null;
  try {
    const pages = readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1];
    return Number(pages) * PAGE_BYTES;
  } catch {
    return null;
  }
}
