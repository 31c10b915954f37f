import { lstatSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** How other commands of the folder find the `flowhook dev` that runs in it. */

export interface AuthorConnection {
  readonly url: string;
  readonly token: string;
}

/** What the author's own service keeps, below the folder of the flows; no part of it is a flow. */
export const AUTHOR_DATA = ".flowhook";

const NAME = "service.json";
const LOOPBACK = /^http:\/\/127\.0\.0\.1:\d+$/;
const OTHERS = 0o077;

export function keepConnection(dataDir: string, connection: AuthorConnection): void {
  const text = JSON.stringify({ ...connection, pid: process.pid });
  writeFileSync(join(dataDir, NAME), `${text}\n`, { mode: 0o600 });
}

export function forgetConnection(dataDir: string): void {
  rmSync(join(dataDir, NAME), { force: true });
}

/**
 * The service that `flowhook dev` runs for a folder; null where there is none. A file
 * that others may read was not written by it: a folder from elsewhere names no service. Nor does
 * one that is closed to who asks.
 */
export function findConnection(folder: string): AuthorConnection | null {
  const path = join(folder, AUTHOR_DATA, NAME);
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isFile() !== true || isOfOthers(stats)) return null;
    const { url, token, pid } = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    const isKnown = typeof url === "string" && LOOPBACK.test(url) && typeof token === "string";
    return isKnown && runs(pid) ? { url, token } : null;
  } catch {
    return null;
  }
}

function isOfOthers({ mode, uid }: { mode: number; uid: number }): boolean {
  if (process.getuid === undefined) return false;
  return (mode & OTHERS) !== 0 || uid !== process.getuid();
}

function runs(pid: unknown): boolean {
  // In a container each program has the same.
  if (typeof pid !== "number" || pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
