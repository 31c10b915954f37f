import { closeSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** Files that are there whole or not at all, as on a disk that is full. */

/**
 * Creates a file, and takes it away again where the writing fails: half of one would count as there
 * the next time, and stay. Not written beside its place: others may have a file of any name there.
 *
 * @throws EEXIST, or what the writing throws
 */
export function createWhole(path: string, content: string | Uint8Array): void {
  const file = openSync(path, "wx");
  try {
    writeAndClose(file, content);
  } catch (error) {
    remove(path);
    throw error;
  }
}

/**
 * Writes a file beside its place and renames it: what was there stays until the new one is whole. A link
 * is replaced by the file.
 *
 * @param mode of the file
 */
export function replaceWhole(path: string, content: string | Uint8Array, mode = 0o666): void {
  const beside = `${path}.${process.pid}`;
  try {
    remove(beside);
    writeAndClose(openSync(beside, "wx", mode), content);
    renameSync(beside, path);
  } catch (error) {
    remove(beside);
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

/** Where that cannot be done either, why the writing failed is what matters. */
function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}
