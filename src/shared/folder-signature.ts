import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/**
 * What the file system tells of a folder and all that is in it, without reading the files: it
 * differs after any change of a content, because nobody but root can set the time of a change.
 *
 * @returns a text to compare; null where the folder cannot be read
 */
export function signFolder(folder: string): string | null {
  try {
    return sign(folder).join("\n");
  } catch {
    return null;
  }
}

function sign(path: string): string[] {
  const stats = lstatSync(path, { bigint: true });
  const { dev, ino, mode, uid, size, mtimeNs, ctimeNs } = stats;
  const own = [path, dev, ino, mode, uid, size, mtimeNs, ctimeNs].join(" ");
  if (!stats.isDirectory()) return [own];
  return [own, ...readdirSync(path).flatMap((name) => sign(join(path, name)))];
}
