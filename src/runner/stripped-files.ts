import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Sources } from "../shared/wire/thread-messages.ts";
import { StripThread } from "./strip-thread.ts";
import { HAS_PERMISSIONS } from "./thread-flags.ts";

/** Of one version's files, in bytes; what is longer is left to the threads. */
const MOST_BYTES = 1024 * 1024;
/** Of all versions together, in UTF-16 units; beyond it they are made anew. */
const MOST_KEPT = 16 * 1024 * 1024;

const TYPED = [".ts", ".mts"];

const NONE: Sources = new Map();

/**
 * The TypeScript files of versions without their types, made once for each version. A thread that
 * loads a flow without them loads the runtime's own stripper, which takes half of its start.
 */
export class StrippedFiles {
  readonly #thread = new StripThread();
  /** By the folder of the version. */
  readonly #kept = new Map<string, Sources>();
  #length = 0;
  readonly #asked = new Map<string, Promise<Sources>>();
  #turn: Promise<unknown> = Promise.resolve();

  /** What is there now; who asks first finds nothing, and later ones what was made meanwhile. */
  peek(directory: string): Sources {
    const kept = this.#kept.get(directory);
    if (kept === undefined) this.get(directory).catch(() => {});
    return kept ?? NONE;
  }

  /** Never rejects: files that could not be read are missing. */
  get(directory: string): Promise<Sources> {
    const kept = this.#kept.get(directory) ?? (HAS_PERMISSIONS ? undefined : NONE);
    if (kept !== undefined) return Promise.resolve(kept);
    const asked = this.#asked.get(directory) ?? this.#make(directory);
    this.#asked.set(directory, asked);
    return asked;
  }

  /** One version after the other. */
  async #make(directory: string): Promise<Sources> {
    const turn = this.#turn.then(() => this.#strip(directory)).catch(() => NONE);
    this.#turn = turn;
    const sources = await turn;
    this.#asked.delete(directory);
    this.#keep(directory, sources);
    return sources;
  }

  async #strip(directory: string): Promise<Sources> {
    const files = await readTyped(directory);
    if (files.length === 0) return NONE;
    const texts = await this.#thread.strip(files.map(([, text]) => text));
    const stripped = new Map<string, string>();
    for (const [at, [href]] of files.entries()) {
      const text = texts[at];
      if (typeof text === "string") stripped.set(href, text);
    }
    return stripped;
  }

  #keep(directory: string, sources: Sources): void {
    this.#length += sources.values().reduce((length, text) => length + text.length, 0);
    if (this.#length > MOST_KEPT) this.#forget();
    this.#kept.set(directory, sources);
  }

  #forget(): void {
    this.#kept.clear();
    this.#length = 0;
  }
}

/** Nothing where they are too large, or not there. */
async function readTyped(directory: string) {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  const paths = entries
    .filter((entry) => entry.isFile() && TYPED.includes(extname(entry.name)))
    .map((entry) => join(entry.parentPath, entry.name));
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  if (sizes.reduce((sum, size) => sum + size, 0) > MOST_BYTES) return [];
  return Promise.all(
    paths.map(async (path) => [hrefOf(path), await readFile(path, "utf8")] as const),
  );
}

function hrefOf(path: string): string {
  return pathToFileURL(path).href;
}
