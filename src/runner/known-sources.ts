import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { decodeStripped, strippedPath } from "../shared/stripped-file.ts";
import type { Sources } from "../shared/wire/thread-messages.ts";

/** Of all versions together, in UTF-16 units; beyond it they are read anew. */
const MOST_KEPT = 16 * 1024 * 1024;

const NONE: Sources = new Map();

/** What the server has stripped of types, read once for each version. */
export class KnownSources {
  /** By the folder of the version. */
  readonly #kept = new Map<string, Sources>();
  #length = 0;

  /** Nothing where there is no file: the runtime strips in the thread then. */
  of(directory: string): Sources {
    const kept = this.#kept.get(directory);
    if (kept !== undefined) return kept;
    const sources = readSources(directory);
    if (sources !== NONE) this.#keep(directory, sources);
    return sources;
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

function readSources(directory: string): Sources {
  try {
    const texts = decodeStripped(readFileSync(strippedPath(directory), "utf8")) ?? {};
    return new Map(
      Object.entries(texts).map(([path, text]) => [hrefOf(join(directory, path)), text]),
    );
  } catch {
    return NONE;
  }
}

function hrefOf(path: string): string {
  return pathToFileURL(path).href;
}
