import { spawn, type ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { toRealPath } from "../../shared/path.ts";
import { RUNNER_MARK } from "../../shared/runner-mark.ts";

/** How a runner's process is started on each runtime. */

/** What flows may reach at most, with what they are loaded from. Paths are absolute. */
export interface Reach {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly net: boolean;
}

/** Deno's permissions are the process's, for all flows: no programs, no native code, nothing fetched. */
const DENO_FLAGS = ["--no-prompt", "--no-remote", "--allow-env", "--allow-sys"];

function denoFlags({ read, write, net }: Reach): string[] {
  return [
    ...DENO_FLAGS,
    `--allow-read=${toDenoList(read)}`,
    ...(write.length === 0 ? [] : [`--allow-write=${toDenoList(write)}`]),
    ...(net ? ["--allow-net"] : []),
  ];
}

/**
 * A path may be asked for by a link to it, and is looked up behind that.
 *
 * @throws Error where Deno cannot be told of one
 */
function toDenoList(paths: readonly string[]): string {
  const all = new Set(paths.flatMap((path) => [path, toRealPath(path)]));
  const unsaid = [...all].find((path) => path.includes(","));
  if (unsaid !== undefined)
    throw new Error(`Deno takes no path with a comma: rename "${unsaid}", or use the binary`);
  return [...all].join(",");
}

/** Without it, memory that the runtime hands to a flow still holds what others had in it. */
const ZERO_FILL = "--zero-fill-buffers";

/** The binary's large young generation is for the server: a runner's main thread does little. In MB. */
const SMALL_YOUNG = "--max-semi-space-size=2";

/** How many native calls run at once: the runtime's four would be shared by all flows. */
const ENVIRONMENT = { UV_THREADPOOL_SIZE: "16" };

/**
 * Starts a runner with an environment of its own and a channel for frames. Its working folder is
 * the program's: the permission layer lets a thread read the folder that its process stands in,
 * whatever the flags say. It is in a group of its own, so that a signal of the terminal or of a
 * supervisor reaches the server alone, which lets what runs come to its end.
 *
 * @param reach of all of its flows together, where the runtime's permissions are the process's
 * @param environment beside what it always has
 * @throws Error where too many files are open for the pipes to it, or Deno cannot be told of a path
 */
export function spawnRunner(
  file: string,
  reach: Reach,
  environment: Readonly<Record<string, string>>,
): ChildProcess {
  const child = spawn(process.execPath, argumentsFor(file, reach), {
    cwd: dirname(file),
    env: { ...environment, ...ENVIRONMENT },
    detached: true,
    windowsHide: true,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  // Without a file for a pipe the runtime gives none, whatever its types say, and tells why later.
  if ((child.stdio as unknown) === undefined) {
    child.on("error", () => {});
    const message = "As many files and sockets are open as may be (ulimit -n)";
    throw Object.assign(new Error(message), { code: "EMFILE" });
  }
  offerToKernel(child);
  return child;
}

/**
 * Where memory ends, Linux kills what is largest: what flows took is to cost their runner, and not
 * the server, which keeps everything else. What they get no permission for is done from here.
 */
function offerToKernel({ pid }: ChildProcess): void {
  if (process.platform !== "linux" || pid === undefined) return;
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, "500");
  } catch {
    // It has ended already, or /proc is not there: the kernel chooses by size alone.
  }
}

/** Not the server's own flags: a loader or a debugger is not the runner's. */
function argumentsFor(file: string, reach: Reach): string[] {
  if ("Deno" in globalThis) return ["run", ...denoFlags(reach), file];
  const flags = `${ZERO_FILL} ${SMALL_YOUNG}`;
  return isSingleBinary() ? [`--node-options=${flags}`, RUNNER_MARK, file] : [ZERO_FILL, file];
}

/** Arguments with which this runtime loads a file of the program's, in a process of its own. */
export function loaderArguments(file: string): string[] {
  return isSingleBinary() ? [RUNNER_MARK, file] : [file];
}

function isSingleBinary(): boolean {
  return process.getBuiltinModule("node:sea").isSea();
}
