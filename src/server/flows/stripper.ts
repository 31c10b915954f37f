import { readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import {
  decodeStripped,
  encodeStripped,
  strippedPath,
  type StrippedTexts,
} from "../../shared/stripped-file.ts";
import { openLimit } from "./limit.ts";
import { StripThread } from "./strip-thread.ts";
import { filesOf } from "./version-folder.ts";
import { writeWhole } from "./version-record.ts";

/** Of one version's files, in bytes; what is more is left to the threads. */
const MOST_BYTES = 1024 * 1024;

const TYPED = [".ts", ".mts"];

/** Deno reads TypeScript by itself, and keeps what it made of it. */
const IS_DENO = "Deno" in globalThis;

/**
 * Takes the types out of the files of versions, once for each. A thread that loads a flow without
 * that loads the runtime's own stripper, which takes half of its start.
 */
export class Stripper {
  readonly #thread = new StripThread();
  readonly #turn = openLimit(1);

  /** Writes the file beside a version's folder, unless it is there. */
  async strip(directory: string): Promise<void> {
    if (IS_DENO || (await isStripped(directory))) return;
    const files = await readTyped(directory);
    if (files.length === 0) return;
    const texts = await this.#turn(() => this.#thread.strip(files.map(({ text }) => text)));
    const stripped: Record<string, string> = {};
    for (const [at, { path }] of files.entries()) {
      const text = texts[at];
      if (typeof text === "string") stripped[path] = text;
    }
    await writeWhole(strippedPath(directory), encodeStripped(stripped satisfies StrippedTexts));
  }
}

async function isStripped(directory: string): Promise<boolean> {
  const text = await readFile(strippedPath(directory), "utf8").catch(() => "");
  return decodeStripped(text) !== null;
}

/** None where they are too large. */
async function readTyped(directory: string) {
  const paths = (await filesOf(directory))?.filter((path) => TYPED.includes(extname(path))) ?? [];
  const sizes = await Promise.all(
    paths.map(async (path) => (await stat(join(directory, path))).size),
  );
  if (sizes.reduce((sum, size) => sum + size, 0) > MOST_BYTES) return [];
  return Promise.all(
    paths.map(async (path) => ({ path, text: await readFile(join(directory, path), "utf8") })),
  );
}
