import { Piscina } from "piscina";
import type { FlowSpec, RunnerSetup } from "../runner/protocol.ts";
import { flagsFor } from "./thread-flags.ts";
import type { ThreadData } from "./thread-messages.ts";

const IDLE_MS = 30_000;
const YOUNG_MB = 16;

/** Threads for one flow version, or one thread that only inspects it. */
export function startThreads(
  spec: FlowSpec,
  setup: RunnerSetup,
  { inspecting }: { inspecting: boolean },
): Piscina {
  const workerData: ThreadData = {
    spec,
    author: setup.author,
    hidden: setup.readable,
    max_output_bytes: setup.max_output_bytes,
    max_log_lines: setup.max_log_lines,
    inspecting,
  };
  return new Piscina({
    filename: setup.thread,
    // One stays while the pool does; further ones go when idle.
    minThreads: inspecting ? 0 : 1,
    maxThreads: inspecting ? 1 : setup.worker_threads,
    idleTimeout: IDLE_MS,
    concurrentTasksPerWorker: 1,
    recordTiming: false,
    env: {},
    execArgv: flagsFor(spec, setup.readable),
    // A small young generation keeps the resident memory of many threads down.
    resourceLimits: { maxOldGenerationSizeMb: spec.memory_mb, maxYoungGenerationSizeMb: YOUNG_MB },
    workerData,
  });
}
