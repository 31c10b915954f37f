import { readdirSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { FlowSpec } from "../../shared/wire/protocol.ts";
import type { Closure } from "./closure.ts";
import { openLimit } from "./limit.ts";
import { sha256 } from "./sources.ts";
import { StripThread } from "./strip-thread.ts";

type Stripped = FlowSpec["stripped"];

/** Of one version's files, in bytes; what is more is left to the threads. */
const MOST_BYTES = 1024 * 1024;

/** Of all versions together, in UTF-16 units; what comes beyond it is left to the threads. */
const MOST_KEPT = 16 * 1024 * 1024;

const TYPED = [".ts", ".mts"];

/** Deno reads TypeScript by itself, and keeps what it made of it. */
const IS_DENO = "Deno" in globalThis;

const NONE: Stripped = {};

/**
 * Takes the types out of the files of versions, once for each. A thread that loads a flow without
 * that loads the runtime's own stripper, which takes half of its start. The texts are in memory
 * alone: on disk somebody could put other code in their place.
 */
export class Stripper {
  readonly #thread = new StripThread();
  readonly #turn = openLimit(1);
  /** By the version's folder. */
  readonly #kept = new Map<string, Stripped>();
  #length = 0;

  /** Starts its thread where a folder has flows with types, before they are read. */
  prepare(pluginsDir: string): void {
    if (!IS_DENO && hasTyped(pluginsDir)) this.#thread.start();
  }

  /** What was made of a version's files, by their URLs. */
  of(directory: string): Stripped {
    return this.#kept.get(directory) ?? NONE;
  }

  async strip(directory: string, { files }: Pick<Closure, "files">): Promise<void> {
    if (IS_DENO || this.#kept.has(directory) || this.#length > MOST_KEPT) return;
    const typed = await readTyped(directory, files);
    if (typed.length === 0) return;
    const texts = await this.#turn(() => this.#thread.strip(typed.map(({ text }) => text)));
    const stripped: Record<string, string> = {};
    for (const [at, { path }] of typed.entries()) {
      const text = texts[at];
      if (typeof text === "string") stripped[pathToFileURL(join(directory, path)).href] = text;
    }
    this.forget(directory);
    this.#kept.set(directory, stripped);
    this.#length += lengthOf(stripped);
  }

  forget(directory: string): void {
    this.#length -= lengthOf(this.of(directory));
    this.#kept.delete(directory);
  }
}

function hasTyped(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => TYPED.includes(extname(name)));
  } catch {
    return false;
  }
}

/** The files with types that are as the closure says; none where they are too large. */
async function readTyped(directory: string, files: Closure["files"]) {
  const typed = files.filter(({ path }) => TYPED.includes(extname(path)));
  const sizes = await Promise.all(
    typed.map(async ({ path }) => (await stat(join(directory, path))).size),
  );
  if (sizes.reduce((sum, size) => sum + size, 0) > MOST_BYTES) return [];
  const read = await Promise.all(
    typed.map(async ({ path, hash }) => {
      const text = await readFile(join(directory, path), "utf8");
      return { path, text, isSame: sha256(text) === hash };
    }),
  );
  return read.filter(({ isSame }) => isSame);
}

function lengthOf(stripped: Stripped): number {
  return Object.values(stripped).reduce((length, text) => length + text.length, 0);
}
