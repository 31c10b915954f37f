import { readdirSync, readFileSync, type Dirent } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { versionOf, type Closure } from "./closure.ts";
import { sha256 } from "./sources.ts";

/**
 * Makes the immutable folder of a version, whole or not at all. One that exists already is
 * compared by content and, where it differs, replaced.
 * @param content Gives a file's bytes, which have the hash that the closure tells.
 */
export async function makeFolder(
  folder: string,
  { version, entry, files }: Closure,
  content: (path: string, hash: string) => Promise<Buffer>,
): Promise<void> {
  if (await isWhole(folder, entry, version)) return;
  await rm(folder, { recursive: true, force: true });
  await mkdir(dirname(folder), { recursive: true });
  const temporary = await mkdtemp(`${folder}.tmp-`);
  try {
    for (const { path, hash } of files) {
      const target = join(temporary, path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, await content(path, hash), { mode: 0o444 });
    }
    await rename(temporary, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    // Another copy of the same content may have been first.
    if (!(await isWhole(folder, entry, version))) throw error;
  }
}

/**
 * Whether a folder has exactly the files and contents that its version names, and no link.
 *
 * @throws Error where too many files are open to tell
 */
export async function isWhole(folder: string, entry: string, version: string): Promise<boolean> {
  const files: { path: string; hash: string }[] = [];
  const paths = await filesOf(folder);
  if (paths === null) return false;
  for (const path of paths) {
    const content = await readFile(join(folder, path)).catch(orWithout(""));
    files.push({ path, hash: sha256(content) });
  }
  return versionOf(entry, files) === version;
}

/** What stands for something that cannot be read; that nothing can be read says nothing of it. */
function orWithout<T>(nothing: T): (error: unknown) => T {
  return (error) => {
    if (isOutOfFiles(error)) throw error;
    return nothing;
  };
}

/** As many files are open as the process or the system allows. */
export function isOutOfFiles(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "EMFILE" || code === "ENFILE";
}

/** The same at once, for a runner that is about to start a thread. */
export function isWholeNow(folder: string, entry: string, version: string): boolean {
  try {
    const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
    const files = toPaths(folder, entries)?.map((path) => ({
      path,
      hash: sha256(readFileSync(join(folder, path))),
    }));
    return files !== undefined && versionOf(entry, files) === version;
  } catch (error) {
    if (isOutOfFiles(error)) throw error;
    return false;
  }
}

/** Paths of a folder's files; null where something is neither a file nor a folder. */
export async function filesOf(folder: string): Promise<string[] | null> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(
    orWithout<Dirent[]>([]),
  );
  return toPaths(folder, entries);
}

/** Null where something is no file: what a link leads to can change unseen. */
function toPaths(folder: string, entries: readonly Dirent[]): string[] | null {
  const files = entries.filter((entry) => !entry.isDirectory());
  if (!files.every((entry) => entry.isFile())) return null;
  return files.map((entry) =>
    relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"),
  );
}
