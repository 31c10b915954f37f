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

/** Where a database is, or will be made: a link may lead to what is not there yet. */
export function resolveLinks(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const file = join(realpathSync(dirname(path)), basename(path));
  return isLink(file) ? resolveLinks(resolve(dirname(file), readlinkSync(file))) : file;
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}
