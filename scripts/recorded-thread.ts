import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BroadcastChannel } from "node:worker_threads";
import type perform from "../src/sandbox/thread.ts";
import { CompiledProgram } from "../src/shared/compiled-program.ts";

/**
 * Entry of a thread that tells what is compiled of its program, once it is asked (thread-cache.ts). The
 * program has no path in it: what is told is shipped.
 */

const text = readFileSync(join(import.meta.dirname, "thread-program.js"), "latin1");
const program = new CompiledProgram<typeof perform>(text, "thread-program.js");
const channel = new BroadcastChannel("code");
channel.onmessage = () => channel.postMessage(program.cache());

export default program.load(import.meta.filename);
