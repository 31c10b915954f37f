import { readFileSync, type Stats } from "node:fs";
import { userInfo } from "node:os";

/** Users of the system; on Windows files have none. */

/** Whether files have an owner and modes here. */
export const HAS_MODES = process.platform !== "win32";

/** The user who runs this process: who files are made by, and whose rights count. */
export function ownId(): number {
  return process.geteuid?.() ?? 0;
}

export function isOurs({ uid }: Stats): boolean {
  return !HAS_MODES || uid === ownId();
}

/** A user's name for a sentence; its number where it has none. */
export function nameOfUser(id: number): string {
  return findName(id) ?? `user ${id}`;
}

/** Null where it has none. */
export function findName(id: number): string | null {
  return id === ownId() ? ownName() : (listUsers().get(id) ?? null);
}

function ownName(): string | null {
  try {
    return userInfo().username;
  } catch {
    // Containers run users whom nobody has named.
    return null;
  }
}

/** passwd(5); users of a directory service are not in it. */
function listUsers(): Map<number, string> {
  try {
    const lines = readFileSync("/etc/passwd", "utf8").split("\n");
    const fields = lines.map((line) => line.split(":"));
    return new Map(fields.map(([name = "", , id]) => [Number(id), name]));
  } catch {
    return new Map();
  }
}
