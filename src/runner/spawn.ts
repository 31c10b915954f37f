import { fork, spawn, type ChildProcess } from "node:child_process";
import { dirname } from "node:path";

/** How a runner's process is started on each runtime. */

/** First argument that tells the single binary to load the file after it. */
export const RUNNER_MARK = "__runner";

/**
 * Starts a runner with an empty environment and a channel for messages.
 * Its working folder is the program's own: the permission layer lets a thread that was started
 * without arguments of its own read the folder it stands in, whatever the flags say.
 */
export function spawnRunner(file: string): ChildProcess {
  const options = {
    cwd: dirname(file),
    env: {},
    stdio: ["ignore", "pipe", "pipe", "ipc"] satisfies ("ignore" | "pipe" | "ipc")[],
    serialization: "advanced" as const,
  };
  if (isSingleBinary()) return spawn(process.execPath, [RUNNER_MARK, file], options);
  return fork(file, [], { ...options, execArgv: execArgv() });
}

function isSingleBinary(): boolean {
  const load = process.getBuiltinModule as typeof process.getBuiltinModule | undefined;
  return load?.("node:sea")?.isSea() ?? false;
}

/** Not the server's own flags: a loader or a debugger is not the runner's. */
function execArgv(): string[] {
  return "Deno" in globalThis ? ["run", "-A"] : [];
}
