import { lstatSync, statSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { findName, HAS_MODES, isOurs, nameOfUser, ownId } from "./owner.ts";

/** Why a folder of the configuration cannot be written, in words that say what to do. */

/** The nearest part of a path that can be seen: a link that leads nowhere is one. */
export function nearestPart(path: string): string {
  const parent = dirname(path);
  return parent === path || statsOf(path) !== null ? path : nearestPart(parent);
}

/**
 * @param folder what the key names
 * @param fault of the system, at `part`: the folder, what is in it, or a folder above it
 */
export function explainUnwritable(
  key: string,
  folder: string,
  error: unknown,
  part = nearestPart(folder),
): string {
  return `Cannot write ${key} "${folder}": ${reasonOf(key, folder, part, error)}`;
}

function reasonOf(key: string, folder: string, part: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const stats = targetOf(part);
  if (stats === null && !isDangling(part)) return `${message}. Mend that, or set another ${key}`;
  if (stats === null) return `"${part}" is a link to nothing. Remove it, or set another ${key}`;
  if (code === "EROFS")
    return (
      `its file system is read-only. Mount it writable (for a unit of systemd: StateDirectory ` +
      `or ReadWritePaths), or set another ${key}`
    );
  if (code === "EEXIST" || code === "ENOTDIR")
    return `"${part}" is a file, expected a folder. Move it away, or set another ${key}`;
  if (code === "ENOENT") return `"${part}" takes no new folders. Set another ${key}`;
  if ((code === "EACCES" || code === "EPERM") && HAS_MODES)
    return `${describeOwner(folder, part, stats)}. ${toMend(folder, part, stats)}, or set another ${key}`;
  return message;
}

function describeOwner(folder: string, part: string, stats: Stats): string {
  const what = part === folder ? "it" : `"${part}"`;
  const owner = nameOfUser(stats.uid);
  const [runs, mode] = [nameOfUser(ownId()), showMode(stats)];
  return `${what} belongs to ${owner} (mode ${mode}), the service runs as ${runs}`;
}

function toMend(folder: string, part: string, stats: Stats): string {
  const path = quotePath(folder);
  const user = userWord(ownId());
  if (isOurs(stats)) return `Run: chmod -R u+rwX ${quotePath(part)}`;
  const isAbove = folder !== part && folder.startsWith(part);
  return isAbove
    ? `Run: sudo install -d -m 700 -o ${user} ${path}`
    : `Run: sudo chown -R ${user} ${path} && sudo chmod 700 ${path}`;
}

/** The permission bits, as chmod takes them. */
export function showMode({ mode }: Stats): string {
  return (mode & 0o777).toString(8).padStart(3, "0");
}

/** A user as chown(1) and install(1) take one: by the number where there is no name. */
export function userWord(id: number): string {
  return quotePath(findName(id) ?? String(id));
}

/** A word of a line for a shell. */
export function quotePath(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

function statsOf(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}

/** What is closed to who asks is no such link: data may lie behind it. */
function isDangling(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ELOOP";
  }
}

/** What is there, behind links; null also where it cannot be looked at, whatever the reason. */
export function targetOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}
