import { createHash } from "node:crypto";
import { open, readFile, realpath, stat, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { BigIntStats } from "node:fs";
import { now } from "../../shared/clock.ts";
import { isInside } from "../../shared/path.ts";
import { findMistake } from "./misplaced.ts";
import { CODE, namedBy, type NamedFiles } from "./named-files.ts";
import { isMissing, type FlowPaths } from "./paths.ts";

/** A file without change for this long, in milliseconds, is taken as completely written. */
export const QUIET_MS = 100;
/** Larger files cannot be part of a flow. */
export const FILE_BYTES_MAX = 32 * 1024 * 1024;

/** One file inside PLUGINS_DIR as it was read. */
export interface Source extends NamedFiles {
  /** Hex of its SHA-256. */
  readonly hash: string;
  readonly bytes: number;
  /** Whether it has the word `default`, without which there is no default export. */
  readonly saysDefault: boolean;
  /** Whether it has the word `export`, without which it gives nobody anything. */
  readonly saysExport: boolean;
  readonly isBlank: boolean;
  /** Why it is no flow though it looks like one; null where it does not. */
  readonly mistake: string | null;
  /** Milliseconds since the epoch since when it has been as it is. */
  readonly since: number;
}

/** Why a file cannot be read as part of a flow; the message is for people. */
export class SourceError extends Error {}

/** The file changed while it was read. */
export class SourceMovedError extends Error {}

interface Kept {
  readonly signature: string;
  readonly source: Source;
  used: boolean;
}

/** Reads the files of PLUGINS_DIR, each content once. Paths are relative, joined by `/`. */
export class Sources {
  readonly #kept = new Map<string, Kept>();

  /** As `read`, of what code names: a text that can be no path is none. */
  async readNamed(paths: FlowPaths, path: string): Promise<Source | null> {
    try {
      return await this.read(paths, path);
    } catch (error) {
      if (error instanceof SourceError && isNoPath(error.cause)) return null;
      throw error;
    }
  }

  /**
   * The file at a path; null where there is none.
   * @throws {SourceError | SourceMovedError}
   */
  async read(paths: FlowPaths, path: string): Promise<Source | null> {
    const file = await find(paths, path);
    if (file === null) return null;
    const signature = signatureOf(file.stats);
    const key = join(paths.root, path);
    const known = this.#kept.get(key);
    if (known?.signature === signature) {
      known.used = true;
      return known.source;
    }
    const content = await readWhole(file.path, path, signature);
    const source = toSource(path, content, sinceOf(file.stats));
    // A second write within the clock's grain leaves the signature as it is: look again then.
    if (now() - source.since > QUIET_MS / 2) {
      this.#kept.set(key, { signature, source, used: true });
    }
    return source;
  }

  /** The content, which must have the hash that `read` told. @throws {SourceError | SourceMovedError} */
  async content(paths: FlowPaths, path: string, hash: string): Promise<Buffer> {
    const file = await find(paths, path);
    if (file === null) throw new SourceMovedError(path);
    const content = await readWhole(file.path, path, signatureOf(file.stats));
    if (sha256(content) !== hash) throw new SourceMovedError(path);
    return content;
  }

  /** The text of a file; null where there is none that may be read. */
  async text(paths: FlowPaths, path: string): Promise<string | null> {
    const file = await find(paths, path).catch(() => null);
    return file === null ? null : readFile(file.path, "utf8").catch(() => null);
  }

  /** Forgets every file that was not read since the last call. */
  sweep(): void {
    for (const [key, entry] of this.#kept) {
      if (entry.used) entry.used = false;
      else this.#kept.delete(key);
    }
  }
}

/** Hex of the SHA-256 of some bytes. */
export function sha256(content: Buffer | string): string {
  return createHash("sha256").update(content).digest("hex");
}

/** What an error says, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The regular file behind a path, which must lie inside the root after all links. */
async function find(paths: FlowPaths, path: string) {
  try {
    const real = await realpath(join(paths.root, path));
    if (!isInside(paths.root, real)) {
      throw new SourceError(
        `'${path}' is a link that leads out of PLUGINS_DIR; copy what it names into it`,
      );
    }
    if (isInside(paths.own, real)) return null;
    const stats = await stat(real, { bigint: true });
    return stats.isFile() ? { path: real, stats } : null;
  } catch (error) {
    if (isMissing(error)) return null;
    throw toError(error, path);
  }
}

async function readWhole(real: string, path: string, signature: string): Promise<Buffer> {
  let file: FileHandle | undefined;
  try {
    file = await open(real);
    const before = await file.stat({ bigint: true });
    if (before.size > FILE_BYTES_MAX) throw new SourceError(`'${path}' is larger than 32 MB`);
    const content = await file.readFile();
    const after = await file.stat({ bigint: true });
    const isSame = signatureOf(before) === signature && signatureOf(after) === signature;
    if (!isSame) throw new SourceMovedError(path);
    return content;
  } catch (error) {
    if (isMissing(error)) throw new SourceMovedError(path, { cause: error });
    throw toError(error, path);
  } finally {
    await file?.close();
  }
}

function toError(error: unknown, path: string): Error {
  if (error instanceof SourceError || error instanceof SourceMovedError) return error;
  return new SourceError(`Cannot read '${path}': ${messageOf(error)}`, { cause: error });
}

/** Too long, or with a NUL. */
function isNoPath(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : null;
  return code === "ENAMETOOLONG" || code === "ERR_INVALID_ARG_VALUE";
}

function signatureOf(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
}

/** The change time, which no program can set; a clock that runs ahead of ours counts as now. */
function sinceOf(stats: BigIntStats): number {
  return Math.min(now(), Number(stats.ctimeNs / 1_000_000n));
}

function toSource(path: string, content: Buffer, since: number): Source {
  const text = CODE.test(path) ? content.toString() : "";
  const saysDefault = /\bdefault\b/.test(text);
  return {
    hash: sha256(content),
    bytes: content.length,
    ...namedBy(path, text),
    saysDefault,
    saysExport: /\bexport\b/.test(text),
    isBlank: text.trim() === "",
    mistake: saysDefault ? null : findMistake(text),
    since,
  };
}
