import { opendirSync, statSync, type Stats } from "node:fs";
import { join } from "node:path";
import { HAS_MODES, nameOfUser, ownId } from "./owner.ts";
import type { Config } from "./resolve.ts";
import { quotePath, targetOf } from "./unwritable.ts";

/** More are not looked at: a start is not to wait for a folder of packages. */
const MOST_ENTRIES = 5000;

/**
 * @returns a warning where there is no folder of flows, or where every user of the system can write
 *   flows, which is to run code; what to do stands at its end
 */
export function warnOfPlugins({ PLUGINS_DIR: folder }: Pick<Config, "PLUGINS_DIR">): string[] {
  const stats = statsOf(folder);
  if (typeof stats === "string")
    return [
      `${nameOfUser(ownId())} cannot look into "${folder}" (PLUGINS_DIR): ${stats}. Set another ` +
        `PLUGINS_DIR, or mend that one`,
    ];
  if (stats?.isDirectory() === false)
    return [`"${folder}" (PLUGINS_DIR) is a file, expected a folder. Set another PLUGINS_DIR`];
  if (stats === undefined)
    return [`There is no folder "${folder}" (PLUGINS_DIR): flows are found as soon as it is there`];
  if (!HAS_MODES) return [];
  const [first, ...more] = listWritable(folder);
  if (first === undefined) return [];
  const others = more.length === 0 ? "" : `, and ${more.length} more of PLUGINS_DIR`;
  return [
    `Every user of this machine can write "${first}"${others}: whoever writes flows runs code as ` +
      `this service. Run: chmod -R o-w ${quotePath(folder)}`,
  ];
}

/** @returns the system's words where it cannot be looked at: that alone stops no service */
function statsOf(folder: string): Stats | string | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    return (error as Error).message;
  }
}

function listWritable(folder: string): string[] {
  const found = isWritableByAll(folder) ? [folder] : [];
  const folders = [folder];
  let left = MOST_ENTRIES;
  for (let next = folders.pop(); next !== undefined && left > 0; next = folders.pop())
    for (const { path, isFolder } of entriesOf(next)) {
      if (left-- <= 0) break;
      if (isWritableByAll(path)) found.push(path);
      if (isFolder) folders.push(path);
    }
  return found;
}

function* entriesOf(folder: string): Generator<{ path: string; isFolder: boolean }> {
  try {
    using entries = opendirSync(folder);
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync())
      yield { path: join(folder, entry.name), isFolder: entry.isDirectory() };
  } catch {
    // Missing, or not to be read: the first scan of the flows says so.
  }
}

function isWritableByAll(path: string): boolean {
  const stats = targetOf(path);
  return stats !== null && (stats.mode & 0o002) !== 0;
}
