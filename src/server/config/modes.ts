import { chmodSync, lstatSync, readdirSync, statSync, type Stats } from "node:fs";
import { join } from "node:path";
import { refuse } from "./config-error.ts";
import { isOurs, nameOfUser, ownId } from "./owner.ts";
import { quotePath, showMode, targetOf, userWord } from "./unwritable.ts";

/** Files and folders that are to be their owner's alone. */

/** What group and others may do. */
const OTHERS = 0o077;

export function isWide({ mode }: Pick<Stats, "mode">): boolean {
  return (mode & OTHERS) !== 0;
}

export function describeWide(path: string, stats: Stats): string {
  return `"${path}" is open to other users (mode ${showMode(stats)})`;
}

/**
 * Takes the rights of others away.
 *
 * @param place where the configuration names it
 * @returns a sentence for the log; null where others had none
 * @throws ConfigError where it is not ours
 */
export function narrow(path: string, place: string): string | null {
  const stats = findOurs(path, place);
  if (stats === null || !isWide(stats)) return null;
  chmodSync(path, stats.mode & 0o7777 & ~OTHERS);
  if (isWide(statSync(path))) return `${describeWide(path, stats)}, and cannot be narrowed there`;
  return `${describeWide(path, stats)}: it was narrowed to its owner`;
}

/**
 * What is there, behind a link too.
 *
 * @returns null where nothing is to be seen: a service that runs may take its WAL away meanwhile
 * @throws ConfigError where it is not ours
 */
export function findOurs(path: string, place: string): Stats | null {
  const stats = targetOf(path);
  if (stats === null) return null;
  const link = lstatSync(path);
  if (link.isSymbolicLink()) requireLinkOfTrusted(path, link, place);
  requireOurs(path, stats, place);
  return stats;
}

/** The same for all that is in a folder, where others could reach it. */
export function narrowAll(path: string, place: string): string | null {
  const sentence = narrow(path, place);
  if (sentence === null || !statSync(path).isDirectory()) return sentence;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    // A link has no mode of its own, and leads to what is not ours to change.
    if (!entry.isSymbolicLink()) narrowAll(join(path, entry.name), place);
  }
  return sentence;
}

/** Root may place links, as whoever sets up a machine does: it can lead us anywhere without one. */
function requireLinkOfTrusted(path: string, stats: Stats, place: string): void {
  if (isOurs(stats) || stats.uid === 0) return;
  const us = nameOfUser(ownId());
  refuse(
    place,
    `Found the link "${path}" of ${nameOfUser(stats.uid)}, expected one of ${us}, who runs the ` +
      `service, or of root. Run: sudo chown -h ${userWord(ownId())} ${quotePath(path)}`,
  );
}

/** What another user put here could be a trap: a database, or code that is run. */
function requireOurs(path: string, stats: Stats, place: string): void {
  if (isOurs(stats)) return;
  const [owner, us] = [nameOfUser(stats.uid), nameOfUser(ownId())];
  const word = quotePath(path);
  refuse(
    place,
    `Found "${path}" of ${owner} (mode ${showMode(stats)}), expected what belongs to ${us}, who ` +
      `runs the service, alone. Run: sudo chown -R ${userWord(ownId())} ${word} && ` +
      `sudo chmod ${stats.isDirectory() ? "700" : "600"} ${word}`,
  );
}
