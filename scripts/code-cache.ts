import { readFileSync, writeFileSync } from "node:fs";
import { Script } from "node:vm";

/**
 * `code-cache.ts PROGRAM CACHE`: compiles a program's text and keeps the code, so that a start
 * need not. A process of its own: the code is for the runtime and flags that it was made with.
 */
const [, , program = "", cache = ""] = process.argv;
const script = new Script(readFileSync(program, "latin1"), { filename: "flowhook" });
writeFileSync(cache, script.createCachedData());
