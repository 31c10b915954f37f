import { Piscina } from "piscina";
import { newClaims } from "../shared/wire/claims.ts";
import { IS_DENO } from "../shared/intrinsics.ts";
import type { FlowSpec, RunnerSetup } from "../shared/wire/protocol.ts";
import { flagsFor } from "./thread-flags.ts";
import type { ThreadData } from "../shared/wire/thread-messages.ts";

const YOUNG_MB = 16;

const SYSTEM_CA = IS_DENO ? [] : ["--use-system-ca"];

type ThreadOptions = Partial<Pick<ThreadData, "withheld" | "claims" | "line">>;

/** A thread that runs a flow version, or only imports it. */
export function startThread(
  spec: FlowSpec,
  setup: RunnerSetup,
  { withheld = null, claims = newClaims(), line = null }: ThreadOptions,
): Piscina {
  const { author, readable, limits, use_system_ca } = setup;
  const workerData: ThreadData = { spec, author, hidden: readable, limits, withheld, claims, line };
  return new Piscina({
    filename: setup.thread,
    minThreads: withheld === null ? 1 : 0,
    maxThreads: 1,
    recordTiming: false,
    env: {},
    execArgv: [...flagsFor(spec, readable, line !== null), ...(use_system_ca ? SYSTEM_CA : [])],
    // A small young generation keeps the resident memory of many threads down.
    resourceLimits: { maxOldGenerationSizeMb: spec.memory_mb, maxYoungGenerationSizeMb: YOUNG_MB },
    workerData,
  });
}
