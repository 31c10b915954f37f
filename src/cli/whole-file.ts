import { closeSync, openSync, rmSync, writeFileSync } from "node:fs";

/**
 * Writes a file whole or not at all, as on a disk that is full: half of one would count as there the
 * next time, and stay. Not beside its place: others may have a file of any name in the folder.
 *
 * @param flag `wx`: where there is none; `w`: also in the place of one
 * @throws EEXIST, or what the writing throws
 */
export function writeWhole(path: string, content: string | Uint8Array, flag: "w" | "wx"): void {
  const file = openSync(path, flag);
  try {
    writeAndClose(file, content);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

/** Some disks say only at its end that they are full. */
function writeAndClose(file: number, content: string | Uint8Array): void {
  try {
    writeFileSync(file, content);
  } finally {
    closeSync(file);
  }
}
