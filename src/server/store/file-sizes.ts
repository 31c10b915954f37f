import { stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { ledgerPaths } from "../../shared/ledger-paths.ts";

/** What the store takes of its disk, and what that has; in bytes, null where it cannot be told. */
export interface FileSizes {
  readonly database: number | null;
  readonly wal: number | null;
  /** Its two files, with what SQLite keeps beside them. */
  readonly ledger: number;
  /** For the user that the service runs as. */
  readonly free: number | null;
  readonly disk: number | null;
}

/** @param path of the database */
export async function readFileSizes(path: string): Promise<FileSizes> {
  const ledger = ledgerPaths(path).flatMap((file) => [file, `${file}-wal`]);
  const [database, wal, parts, disk] = await Promise.all([
    sizeOf(path),
    sizeOf(`${path}-wal`),
    Promise.all(ledger.map(sizeOf)),
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
