import { spawn, type ChildProcess } from "node:child_process";
import { dirname } from "node:path";

/** How a runner's process is started on each runtime. */

/** First argument that tells the single binary to load the file after it. */
export const RUNNER_MARK = "__runner";

/** Deno's permissions are the process's, for all flows: no programs, no native code, nothing fetched. */
const DENO_FLAGS = [
  "--no-prompt",
  "--no-remote",
  "--allow-read",
  "--allow-write",
  "--allow-net",
  "--allow-env",
  "--allow-sys",
];

/**
 * Starts a runner with an empty environment and a channel for frames.
 * Its working folder is the program's own: the permission layer lets a thread read the folder
 * that its process stands in, whatever the flags say.
 */
export function spawnRunner(file: string): ChildProcess {
  return spawn(process.execPath, argumentsFor(file), {
    cwd: dirname(file),
    env: {},
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
}

/** Not the server's own flags: a loader or a debugger is not the runner's. */
function argumentsFor(file: string): string[] {
  if ("Deno" in globalThis) return ["run", ...DENO_FLAGS, file];
  return isSingleBinary() ? [RUNNER_MARK, file] : [file];
}

function isSingleBinary(): boolean {
  return process.getBuiltinModule("node:sea").isSea();
}
