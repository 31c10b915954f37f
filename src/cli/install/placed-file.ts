import { renameSync, rmSync } from "node:fs";

/**
 * Puts a file in its place whole or not at all: it is written beside, and renamed. Half of one would
 * count as there the next time, and the file of a program that runs cannot be written.
 *
 * @param write writes it at the path that it is given, with its mode and owner
 * @throws what the writing throws, or the renaming
 */
export function placeFile(path: string, write: (beside: string) => void): void {
  const beside = `${path}.new`;
  try {
    write(beside);
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}
