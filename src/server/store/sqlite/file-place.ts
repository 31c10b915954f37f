import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/**
 * The file that is the database: SQLite follows a link, and keeps its WAL beside what it finds there.
 * So does the ledger, which is one then, by whatever name the database is opened.
 *
 * @returns the path itself where it is no link
 */
export function fileAt(path: string): string {
  return isLink(path) ? resolveLinks(path) : path;
}

/** More lead in a circle, as Linux has it. */
const MOST_LINKS = 40;

/**
 * Where a database is, or will be made: a link may lead to what is not there yet.
 *
 * @returns some path of a circle, which opens nothing and says why
 */
export function resolveLinks(path: string, most = MOST_LINKS): string {
  if (existsSync(path)) return realpathSync(path);
  const file = join(realpathSync(dirname(path)), basename(path));
  if (most === 0 || !isLink(file)) return file;
  return resolveLinks(resolve(dirname(file), readlinkSync(file)), most - 1);
}

/** Of what cannot be looked at whoever opens it says why. */
function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  } catch {
    return false;
  }
}
