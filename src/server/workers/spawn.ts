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

/** Without it, memory that the runtime hands to a flow still holds what others had in it. */
const ZERO_FILL = "--zero-fill-buffers";

/** How many native calls run at once: the runtime's four would be shared by all flows. */
const ENVIRONMENT = { UV_THREADPOOL_SIZE: "16" };

/**
 * Starts a runner with an environment of its own and a channel for frames. Its working folder is
 * the program's: the permission layer lets a thread read the folder that its process stands in,
 * whatever the flags say. It is in a group of its own, so that a signal of the terminal or of a
 * supervisor reaches the server alone, which lets what runs come to its end.
 *
 * @throws Error where too many files are open for the pipes to it
 */
export function spawnRunner(file: string): ChildProcess {
  const child = spawn(process.execPath, argumentsFor(file), {
    cwd: dirname(file),
    env: ENVIRONMENT,
    detached: true,
    windowsHide: true,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  // Without a file for a pipe the runtime gives none, whatever its types say, and tells why later.
  if ((child.stdio as unknown) === undefined) {
    child.on("error", () => {});
    throw new Error("As many files and sockets are open as may be (ulimit -n)");
  }
  return child;
}

/** Not the server's own flags: a loader or a debugger is not the runner's. */
function argumentsFor(file: string): string[] {
  if ("Deno" in globalThis) return ["run", ...DENO_FLAGS, file];
  return isSingleBinary() ? [`--node-options=${ZERO_FILL}`, RUNNER_MARK, file] : [ZERO_FILL, file];
}

/** Arguments with which this runtime loads a file of the program's, in a process of its own. */
export function loaderArguments(file: string): string[] {
  return isSingleBinary() ? [RUNNER_MARK, file] : [file];
}

function isSingleBinary(): boolean {
  return process.getBuiltinModule("node:sea").isSea();
}
