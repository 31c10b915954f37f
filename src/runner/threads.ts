import { Piscina } from "piscina";
import type { FlowSpec, RunnerSetup } from "../shared/wire/protocol.ts";
import { flagsFor } from "./thread-flags.ts";
import type { ThreadData } from "../shared/wire/thread-messages.ts";

const YOUNG_MB = 16;

type ThreadOptions = Pick<ThreadData, "inspecting" | "withheld" | "claims" | "line">;

/** A thread for a flow version, or one that only inspects it. */
export function startThread(
  spec: FlowSpec,
  setup: RunnerSetup,
  { inspecting, withheld, claims, line }: ThreadOptions,
): Piscina {
  const workerData: ThreadData = {
    spec,
    author: setup.author,
    hidden: setup.readable,
    limits: setup.limits,
    inspecting,
    withheld,
    claims,
    line,
  };
  return new Piscina({
    filename: setup.thread,
    minThreads: inspecting ? 0 : 1,
    maxThreads: 1,
    recordTiming: false,
    env: {},
    execArgv: flagsFor(spec, setup.readable, line !== null),
    // A small young generation keeps the resident memory of many threads down.
    resourceLimits: { maxOldGenerationSizeMb: spec.memory_mb, maxYoungGenerationSizeMb: YOUNG_MB },
    workerData,
  });
}
