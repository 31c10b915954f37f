import { linkSync, renameSync, rmSync } from "node:fs";

/** Writes the file at a path where there is none, with its mode and owner. @throws EEXIST */
type Write = (beside: string) => void;

/**
 * Puts a file in its place whole or not at all: it is written beside, and renamed. Half of one would
 * count as there the next time, and the file of a program that runs cannot be written.
 *
 * @throws what the writing throws, or the renaming
 */
export function placeFile(path: string, write: Write): void {
  writeBeside(path, write, (beside) => renameSync(beside, path));
}

/** The same where nothing may be replaced, not even a link to nothing. @throws EEXIST */
export function placeNewFile(path: string, write: Write): void {
  writeBeside(path, write, (beside) => {
    linkSync(beside, path);
    rmSync(beside);
  });
}

/** Where a file is written before it has its place. An interrupted installation may leave it. */
export function besideOf(path: string): string {
  return `${path}.new`;
}

function writeBeside(path: string, write: Write, place: (beside: string) => void): void {
  const beside = besideOf(path);
  rmSync(beside, { force: true });
  try {
    write(beside);
    place(beside);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}
