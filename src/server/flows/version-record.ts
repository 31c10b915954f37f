import { readFile, rename, rm, writeFile } from "node:fs/promises";
import * as v from "valibot";
import { MANIFEST_FORMAT } from "./closure.ts";
import { ManifestText, type Manifest } from "../../shared/manifest.ts";
import { missingAs } from "./paths.ts";

/** What is kept beside a version's folder: enough to serve it again without an inspection. */
export interface VersionRecord {
  readonly format: typeof MANIFEST_FORMAT;
  /** Path of the flow's file in the folder. */
  readonly entry: string;
  /** When it was taken up last, in milliseconds since the epoch. */
  readonly taken_at: number;
  /** Null: the file has no flow as its default export. */
  readonly manifest: Manifest | null;
}

const RecordText = v.strictObject({
  format: v.literal(MANIFEST_FORMAT),
  entry: v.string(),
  taken_at: v.number(),
  manifest: v.nullable(ManifestText),
});

/**
 * Reads a record; null where there is none that this version of the product understands.
 *
 * @throws Error where it is there and cannot be read
 */
export async function readRecord(path: string): Promise<VersionRecord | null> {
  const text = await readText(path);
  if (text === null) return null;
  try {
    return v.parse(RecordText, JSON.parse(text));
  } catch {
    // Written by another release, or cut by a crash: the version is inspected again.
    return null;
  }
}

/** A file's text; null where there is none. @throws Error that names the path */
export async function readText(path: string): Promise<string | null> {
  return readFile(path, "utf8")
    .catch((error: Error) => {
      if (!error.message.includes(path)) error.message += ` '${path}'`;
      throw error;
    })
    .catch(missingAs(null));
}

/** Writes a file whole or not at all. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`;
  await writeFile(temporary, text);
  await rename(temporary, path).catch(async (error: unknown) => {
    await rm(temporary, { force: true });
    throw error;
  });
}
