import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CompiledProgram } from "../shared/compiled-program.ts";
import type perform from "./thread.ts";

/**
 * Entry of a thread as it is shipped. The program (thread.ts) lies beside as text, and so does what
 * the build compiled of it, which is empty where nobody knows what will load it: to compile it anew is
 * a quarter of a thread's start.
 */

const cache = read("thread.cache");
const path = join(import.meta.dirname, "thread-program.js");

const program = new CompiledProgram<typeof perform>(
  read("thread-program.js").toString("latin1"),
  path,
  cache.length === 0 ? undefined : cache,
);

function read(name: string): Buffer {
  return readFileSync(join(import.meta.dirname, name));
}

/** Piscina's entry. */
export default program.load(path);
