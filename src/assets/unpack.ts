import { createHash } from "node:crypto";
import {
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { isAlive } from "../shared/alive.ts";
import { now } from "../shared/clock.ts";
import { signFolder } from "../shared/folder-signature.ts";
import { isUnpackedName } from "../shared/unpacked-name.ts";
import { readAsset } from "./read.ts";

export interface Unpacking {
  /** The folder that holds one folder per version. */
  readonly parent: string;
  readonly version: string;
  readonly files: readonly UnpackedFile[];
}

export interface UnpackedFile {
  readonly asset: string;
  /** Its name on disk. */
  readonly name: string;
  /** SHA-256 in hex of its content. */
  readonly digest: string;
}

/** Beginning of the name of a folder that is being written; the number of its process follows. */
const BESIDE = ".unpack-";

const PIECE_BYTES = 128 * 1024;

/** A folder that is being written gets another file long before, in milliseconds. */
const WRITING_MS = 10_000;

/** A folder that is still half written after an hour is nobody's, whoever has the number by then. */
const STALE_MS = 3_600_000;

/**
 * The folder with the files in it, of mode 0700, made in one step where it is missing, half
 * written or altered: it is written beside and renamed.
 */
export function unpack(unpacking: Unpacking): string {
  const folder = folderOf(unpacking);
  if (!isIntact(folder, unpacking.files)) {
    mkdirSync(unpacking.parent, { recursive: true, mode: 0o700 });
    replace(folder, unpacking);
  }
  return realpathSync(folder);
}

/**
 * A check of a folder that `unpack` gave, which costs a look at each file: contents are compared
 * where anything changed since, and what is altered is replaced.
 *
 * @returns whether another one lies there now: whoever stands in it is nowhere
 * @throws Error where it cannot be replaced: a data folder that was moved away is not made anew, and
 *   can be moved back
 */
export function openCheck(unpacking: Unpacking, folder: string): () => boolean {
  let signature = signFolder(folder);
  let identity = identify(folder);
  return () => {
    if (signature !== null && signFolder(folder) === signature) return false;
    const isWhole = isIntact(folder, unpacking.files);
    if (!isWhole) {
      makeOne(unpacking.parent);
      replace(folder, unpacking);
    }
    const before = identity;
    signature = signFolder(folder);
    identity = identify(folder);
    return !isWhole || identity !== before;
  };
}

function replace(folder: string, { parent, files }: Unpacking): void {
  for (const name of readdirSync(parent).filter((found) => found.startsWith(BESIDE)))
    if (isLeft(join(parent, name))) remove(join(parent, name));
  const beside = mkdtempSync(join(parent, `${BESIDE}${process.pid}-`));
  try {
    for (const { asset, name } of files)
      writeFileSync(join(beside, name), readAsset(asset), { mode: 0o600, flag: "wx" });
    settle(beside, folder, files);
  } catch (error) {
    // A full disk gets back what was taken of it.
    remove(beside);
    throw error;
  }
}

/** Makes a folder where the one above it is there. */
function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** A folder that is made after another one was removed may get the number of that. */
function identify(folder: string): string {
  const { dev, ino, birthtimeNs } = lstatSync(folder, { bigint: true });
  return `${dev} ${ino} ${birthtimeNs}`;
}

/**
 * Removes every other version's folder. What is still in use stays (on Windows), and so does what
 * has another name: somebody else has put it there.
 */
export function removeOthers(unpacking: Unpacking): void {
  const kept = basename(folderOf(unpacking));
  for (const name of readdirSync(unpacking.parent).filter(isUnpackedName)) {
    const path = join(unpacking.parent, name);
    if (name !== kept && (!name.startsWith(BESIDE) || isLeft(path))) remove(path);
  }
}

function folderOf({ parent, version, files }: Unpacking): string {
  const hash = createHash("sha256");
  for (const { name, digest } of files) hash.update(`${name}:${digest}\n`);
  return join(parent, `${version}-${hash.digest("hex").slice(0, 16)}`);
}

/** Exactly these files with exactly these contents, and nobody else may change them. */
function isIntact(folder: string, files: readonly UnpackedFile[]): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (!stats?.isDirectory()) return false;
  if (process.platform !== "win32" && (stats.mode & 0o077) !== 0) return false;
  const found = readdirSync(folder, { withFileTypes: true });
  if (found.length !== files.length || !found.every((entry) => entry.isFile())) return false;
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  return files.every(({ name, digest }) => digestOf(join(folder, name), piece) === digest);
}

/** Read in pieces: pages for all of it at once would cost more than its hash. */
function digestOf(path: string, piece: Buffer): string | null {
  const hash = createHash("sha256");
  try {
    const file = openSync(path, "r");
    try {
      for (let read; (read = readSync(file, piece)) > 0;) hash.update(piece.subarray(0, read));
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
  return hash.digest("hex");
}

/** Renames the new folder to its place; where another process was faster, its folder is as good. */
function settle(beside: string, folder: string, files: readonly UnpackedFile[]): void {
  for (const attempt of [1, 2, 3]) {
    if (tryRename(beside, folder)) return;
    if (isIntact(folder, files)) return remove(beside);
    setAside(folder, `${beside}.${attempt}`);
  }
  throw new Error(`Cannot replace "${folder}": other processes keep writing it`);
}

/** Another process may have done it meanwhile. */
function setAside(folder: string, aside: string): void {
  try {
    renameSync(folder, aside);
  } catch (error) {
    if (lstatSync(folder, { throwIfNoEntry: false }) !== undefined) throw error;
  }
  remove(aside);
}

function tryRename(from: string, to: string): boolean {
  // rename() replaces an empty folder and a dangling link's target silently: look first.
  if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) return false;
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) return false;
    throw error;
  }
}

/** Nothing was written there for a while, by a process that has ended, or any at all. */
function isLeft(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return false;
  const idleMs = now() - stats.mtimeMs;
  const pid = Number(/^\.unpack-(\d+)-/.exec(basename(path))?.[1]);
  // Another container's process may have a number that none has here, or this one's.
  const hasEnded = pid === process.pid || (pid > 0 && !isAlive(pid));
  return idleMs >= (hasEnded ? WRITING_MS : STALE_MS);
}

function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // What the system still uses is removed at a later start.
  }
}
