import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { filesOf } from "./version-folder.ts";

/** A file of a kept version, and the files that are beside it. */
export interface VersionFile {
  /** Of all files of the version, sorted. */
  readonly paths: readonly string[];
  /** Null: the version has no such file. */
  readonly path: string | null;
  /** Null: the file is no text in UTF-8, or larger than 1 MiB. */
  readonly text: string | null;
}

const MOST_BYTES = 1024 * 1024;

/** A path leads to a file only if it is that of one that the version is made of. */
export async function readVersionFile(folder: string, wanted: string): Promise<VersionFile | null> {
  const paths = (await filesOf(folder))?.toSorted();
  if (paths === undefined) return null;
  const path = paths.find((one) => one === wanted) ?? null;
  return { paths, path, text: path === null ? null : await readText(join(folder, path)) };
}

async function readText(path: string): Promise<string | null> {
  if ((await stat(path)).size > MOST_BYTES) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
