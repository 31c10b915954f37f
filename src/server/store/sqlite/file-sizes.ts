import { stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { FileSizes } from "../store.ts";
import { ledgerPaths } from "../../../shared/ledger-paths.ts";

/** @param path of the database */
export async function readFileSizes(path: string): Promise<FileSizes> {
  const [database, wal, parts, disk] = await Promise.all([
    sizeOf(path),
    sizeOf(`${path}-wal`),
    Promise.all(ledgerPaths(path).map(sizeOf)),
    statfs(dirname(path)).catch(() => null),
  ]);
  return {
    database,
    wal,
    ledger: parts.reduce<number>((sum, size) => sum + (size ?? 0), 0),
    free: disk === null ? null : disk.bavail * disk.bsize,
    disk: disk === null ? null : disk.blocks * disk.bsize,
  };
}

async function sizeOf(path: string): Promise<number | null> {
  const found = await stat(path).catch(() => null);
  return found === null ? null : found.size;
}
