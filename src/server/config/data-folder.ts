import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  statfsSync,
  statSync,
  type Stats,
} from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { ledgerPaths } from "../../shared/ledger-paths.ts";
import { makeFolder } from "../../shared/make-folder.ts";
import { isUnpackedName } from "../../shared/unpacked-name.ts";
import { refuse } from "./config-error.ts";
import type { Loaded } from "./load.ts";
import { describeWide, findOurs, isWide, narrow, narrowAll } from "./modes.ts";
import { findName, HAS_MODES, isOurs, nameOfUser, ownId } from "./owner.ts";
import { databaseFile } from "./resolve.ts";
import { explainUnwritable, nearestPart, quotePath, targetOf } from "./unwritable.ts";

/**
 * DATA_DIR and what is in it belong to the service's user alone: whoever reads the database reads
 * every input, and whoever writes into the folder runs code (contract, section 7, number 8).
 */

type Given = Pick<Loaded, "config" | "placeOf">;

/**
 * Makes the folder where it is missing, and takes the rights of others away. What this process
 * makes from now on is its user's alone.
 *
 * @returns what the log is to say
 * @throws ConfigError where the service cannot write it, or others can use what is not ours
 */
export function openDataFolder(given: Given): string[] {
  const { config, placeOf } = given;
  if (HAS_MODES) process.umask(0o077);
  for (const { key, folder } of foldersOf(given)) {
    requireWritable(given, key, folder);
    try {
      makeFolder(folder, 0o700);
    } catch (error) {
      refuse(placeOf(key), explainUnwritable(key, folder, error));
    }
  }
  requireFile(given);
  const folder = config.DATA_DIR;
  const stats = statSync(folder);
  requireOwnFolder(given, stats);
  if (!HAS_MODES) return [];
  const place = placeOf("DATA_DIR");
  if (!isOurs(stats) && ownId() === 0) refuse(place, describeOther(folder, stats));
  const sentences = [
    narrow(folder, place),
    ...[...listOwn(given), ...listCopies(given)].map((path) => narrowAll(path, place)),
  ];
  return sentences.filter((sentence) => sentence !== null);
}

/**
 * Looks for the same faults, and makes and changes nothing. Root looks at the folder of a service's
 * user, who starts it: what belongs to whom is not judged then.
 *
 * @returns what the log would say, and what the next start narrows
 */
export function checkDataFolder(given: Given): string[] {
  for (const { key, folder } of foldersOf(given)) requireWritable(given, key, folder);
  requireFile(given);
  const folder = given.config.DATA_DIR;
  const stats = targetOf(folder);
  if (stats === null) return [];
  requireOwnFolder(given, stats);
  if (!HAS_MODES) return [];
  const isOthers = !isOurs(stats) && ownId() === 0;
  const place = given.placeOf("DATA_DIR");
  return [folder, ...listOwn(given), ...listCopies(given)].flatMap((path) => {
    const found = isOthers ? targetOf(path) : findOurs(path, place);
    if (found === null || !isWide(found)) return [];
    return [`${describeWide(path, found)}: the service narrows it at its start`];
  });
}

/** Root could use it: what root makes there the service's user cannot read at the next start. */
function describeOther(folder: string, { uid }: Stats): string {
  const user = nameOfUser(uid);
  const word = quotePath(findName(uid) ?? `#${uid}`);
  return (
    `DATA_DIR "${folder}" belongs to ${user}, who could not use what root leaves there. Run this ` +
    `command as ${user}: begin it with sudo -u ${word}`
  );
}

/** @throws ConfigError where a folder stands in the database's place, or a link in a circle */
function requireFile({ config, placeOf }: Given): void {
  const file = databaseFile(config) ?? "";
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  } catch (error) {
    refuse(placeOf("DATABASE_URL"), explainUnwritable("DATABASE_URL", file, error));
  }
  refuse(placeOf("DATABASE_URL"), `Found a folder at "${file}", expected the database's file`);
}

type Key = "DATA_DIR" | "DATABASE_URL";

/** The database may lie elsewhere. */
function foldersOf({ config }: Given): { key: Key; folder: string }[] {
  const folders: { key: Key; folder: string }[] = [{ key: "DATA_DIR", folder: config.DATA_DIR }];
  const file = databaseFile(config);
  const folder = file === null ? config.DATA_DIR : dirname(file);
  return folder === config.DATA_DIR ? folders : [...folders, { key: "DATABASE_URL", folder }];
}

/** The folder, or the one where it will be made, and what the service writes in it. */
function requireWritable(given: Given, key: Key, folder: string): void {
  const own = listOwn(given).filter((path) => dirname(path) === folder);
  for (const part of existsSync(folder) ? [folder, ...own] : [nearestPart(folder)]) {
    try {
      // What cannot be seen for another reason than that it is not there cannot be made either.
      statSync(folder, { throwIfNoEntry: false });
      requireAccess(part, part === folder || !own.includes(part));
      if (part === folder) accessSync(folder, constants.R_OK);
    } catch (error) {
      const other = part === folder && isDenied(error) ? findOther(given, folder) : undefined;
      refuse(
        given.placeOf(key),
        other === undefined
          ? explainUnwritable(key, folder, error, part)
          : `Cannot write ${describeOthers(key, folder, other)}`,
      );
    }
  }
}

function isDenied(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "EACCES" || code === "EPERM";
}

function requireAccess(path: string, isFolder: boolean): void {
  const { R_OK, W_OK, X_OK } = constants;
  const isFound = statSync(path).isDirectory();
  if (isFolder && !isFound) throw Object.assign(new Error("No folder"), { code: "ENOTDIR" });
  accessSync(path, isFound ? W_OK | X_OK : R_OK | W_OK);
  if (isFolder && statfsSync(path).type === PROC)
    throw Object.assign(new Error("No files"), { code: "ENOENT" });
}

/** PROC_SUPER_MAGIC of statfs(2): /proc says that all can be written, and takes nothing. */
const PROC = 0x9fa0;

/** What the service keeps there, beside the database; `started.log` of a release before. */
const OWN: readonly string[] = [
  "lock.db",
  "lock.db-journal",
  "secret.key",
  "started.log",
  "versions",
  "runtime",
];

/** What stands beside a database, or a file of its ledger; journals are those of a kill. */
const ENDS = ["", "-wal", "-shm", "-journal", "-lock", "-lock-journal", "-parted"];

/** What is there of it. */
export function listOwn({ config }: Pick<Given, "config">): string[] {
  const file = databaseFile(config);
  const files = file === null ? [] : [file, ...ledgerPaths(file)];
  const database = files.flatMap((path) => ENDS.map((end) => path + end));
  const own = OWN.map((name) => join(config.DATA_DIR, name));
  return [...own, ...database].filter((path) => existsSync(path));
}

/** Copies of the database that an update or a restore left, as far as they are ours. */
function listCopies({ config }: Given): string[] {
  const file = databaseFile(config);
  if (file === null) return [];
  const folder = dirname(file);
  return (existsSync(folder) ? readdirSync(folder) : [])
    .filter((name) => name.startsWith(`${basename(file)}.`))
    .map((name) => join(dirname(file), name))
    .filter((path) => isOurs(lstatSync(path)));
}

/**
 * Others may need what lies beside: a folder that was never the service's is not narrowed, and
 * nothing in it is taken for what a crash left behind.
 */
function requireOwnFolder(given: Given, stats: Stats): void {
  const folder = given.config.DATA_DIR;
  if (isMarked(given, folder)) return;
  const isOpen = HAS_MODES && isWide(stats);
  const other = isOpen ? findOther(given, folder) : findTaken(folder);
  if (other === undefined) return;
  const open = isOpen ? ". It is open to other users, who may need them" : "";
  refuse(given.placeOf("DATA_DIR"), `Found ${describeOthers("DATA_DIR", folder, other)}${open}`);
}

/**
 * Before a command is printed that gives the folders to the service's user alone.
 *
 * @throws ConfigError where they hold what the service has not made
 */
export function requireOwnFolders(given: Given): void {
  for (const { key, folder } of foldersOf(given)) {
    const other = findOther(given, folder);
    if (other !== undefined)
      refuse(given.placeOf(key), `Found ${describeOthers(key, folder, other)}`);
  }
}

function describeOthers(key: Key, folder: string, other: string): string {
  const own = quotePath(join(folder, "flowhook"));
  const place = key === "DATA_DIR" ? own : `a file in ${own}`;
  return (
    `${key} "${folder}" with other files in it ("${other}"), expected a folder of the service's ` +
    `own. Set ${key} to ${place}`
  );
}

/** What the service alone makes in DATA_DIR, before it keeps versions there; and what it unpacks first. */
const MARKS = ["lock.db", "secret.key"];

/** Whether the service has been there. */
function isMarked({ config }: Given, folder: string): boolean {
  const isData = folder === config.DATA_DIR;
  const marks = isData ? MARKS.map((name) => join(folder, name)) : [];
  const database = databaseFile(config) ?? "";
  if (dirname(database) === folder) marks.push(database);
  return marks.some((path) => existsSync(path)) || (isData && hasUnpacked(folder));
}

function hasUnpacked(folder: string): boolean {
  const names = namesIn(join(folder, "runtime"));
  return names.length > 0 && names.every(isUnpackedName);
}

/** What a folder holds of somebody else. */
function findOther(given: Given, folder: string): string | undefined {
  if (isMarked(given, folder)) return undefined;
  const { config } = given;
  // One of them may lie in another.
  const ours = [config.PLUGINS_DIR, ...foldersOf(given).map((own) => own.folder)];
  const expected = new Set(ours.map((path) => relative(folder, path).split(sep)[0]));
  const others = namesIn(folder).filter(
    (name) => !/^\.|^lost\+found$/.test(name) && !expected.has(name),
  );
  if (folder !== config.DATA_DIR) return others[0];
  return findTaken(folder) ?? others.find((name) => !OWN.includes(name));
}

/** What somebody else has put where the service removes what it does not know. */
function findTaken(folder: string): string | undefined {
  const taken = ["runtime", "versions"].flatMap((own) =>
    namesIn(join(folder, own)).map((name) => join(own, name)),
  );
  // What the program has left there is not what somebody else has put.
  return taken.find((path) => !isUnpackedName(basename(path)));
}

/** What cannot be listed is not emptied either. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
