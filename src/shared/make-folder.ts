import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder, and those above it that are missing. Node's own way with `recursive` never ends
 * where the system refuses with ENOENT although the folder above is there, as in /proc.
 *
 * @throws what the system refuses with
 */
export function makeFolder(path: string, mode = 0o777): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeFolder(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!existsSync(path) || !statSync(path).isDirectory()) throw error;
  }
}
