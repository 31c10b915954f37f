import { join } from "node:path";
import type { Runtime } from "../assets/runtime.ts";
import type { Log } from "../shared/log.ts";
import { environmentOfFlows, readEnvironment } from "./config/environment.ts";
import type { Config } from "./config/resolve.ts";
import type { DebuggedFlow } from "./workers/runners.ts";
import { startRunners, type Supervisor } from "./workers/supervisor.ts";

export interface RunnersParts {
  readonly config: Config;
  readonly log: Log;
  readonly runtime: Runtime;
}

/** The runners as the configuration wants them; their first process starts at once. */
export function startRunnersOf(
  { config, log, runtime }: RunnersParts,
  debug?: DebuggedFlow,
): Promise<Supervisor> {
  return startRunners({ ...toRunnersOptions(config, runtime), log, ...(debug && { debug }) });
}

function toRunnersOptions(config: Config, runtime: Runtime) {
  return {
    runner: runtime.runner,
    thread: runtime.thread,
    author: runtime.author,
    readable: runtime.readable,
    reach: {
      read: [
        ...runtime.readable,
        join(config.DATA_DIR, "versions"),
        join(config.PLUGINS_DIR, "node_modules"),
        ...config.ALLOW_READ,
      ],
      write: config.ALLOW_WRITE,
      net: config.ALLOW_NET,
    },
    environment: environmentOfFlows(readEnvironment()),
    sockets: config.DATA_DIR,
    verifyProgram: () => runtime.verify(),
    runnerMemoryMb: config.RUNNER_MEMORY_MB,
    hasMessages: config.LOG_MESSAGES,
    limits: {
      max_output_bytes: config.MAX_OUTPUT_BYTES,
      max_input_bytes: config.MAX_BODY_BYTES,
      max_log_lines: config.MAX_LOG_LINES,
    },
  };
}
