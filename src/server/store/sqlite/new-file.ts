import { fchownSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a file for one user alone: whoever owns its folder, so that a service can use what root
 * makes there for it.
 *
 * @returns a descriptor, to be closed
 * @throws Error where there is a file, or a link, of this name
 */
export function makeFile(path: string): number {
  const descriptor = openSync(path, "wx", 0o600);
  const { uid, gid } = statSync(dirname(path));
  if (process.geteuid?.() === 0 && uid !== 0) fchownSync(descriptor, uid, gid);
  return descriptor;
}
