import { realpathSync } from "node:fs";
import { relative, sep } from "node:path";
import { toMs, type Config } from "../server/config/resolve.ts";
import { toInput } from "../server/executions/input.ts";
import { decide, toOutcome, type Outcome } from "../server/executions/outcome.ts";
import type { Flow } from "../server/flows/catalog.ts";
import { openLimit } from "../server/flows/limit.ts";
import type { Flows } from "../server/flows.ts";
import { newExecutionId } from "../shared/id.ts";
import { toResourceName } from "../shared/resource-name.ts";
import type { FlowSpec, Job, LogLine } from "../shared/wire/protocol.ts";
import type { TrialRequest, TrialResult } from "../shared/wire/trial.ts";
import {
  ancestorsOf,
  operateInTrial,
  type TrialExecution,
  type TrialSurroundings,
} from "./trial-operations.ts";
import { runInThread, type ThreadEnding } from "./trial-thread.ts";

/** Runs flows for tests: in the real sandbox, without a store. */
export interface Trials {
  /** @throws Error where none of the files is a flow that can run */
  run(request: TrialRequest): Promise<TrialResult>;
}

/** Executions that run at the same time: those of tests, and of each depth below them. */
const MOST = 4;

export function openTrials(flows: Flows, config: Config): Trials {
  // Those of one depth wait for none but deeper ones: none holds up what it waits for.
  const limits: Limit[] = [];
  const limitAt = (depth: number): Limit => (limits[depth] ??= openLimit(MOST));
  return { run: (request) => limitAt(0)(() => runTrial({ flows, config, request, limitAt })) };
}

type Limit = ReturnType<typeof openLimit>;

interface Trial {
  readonly flows: Flows;
  readonly config: Config;
  readonly request: TrialRequest;
  readonly limitAt: (depth: number) => Limit;
}

/** What one execution of a test is given. */
type Given = Pick<Job, "input_value" | "raw_body" | "base_url" | "target">;

/** With the names as a service keeps them. */
function toNamed(values: Readonly<Record<string, string>>): [name: string, value: string][] {
  return Object.entries(values).map(([name, value]) => [toResourceName(name), value]);
}

async function runTrial(trial: Trial): Promise<TrialResult> {
  const { config, flows, limitAt, request } = trial;
  const { input_value, raw_body, origin: base_url, target_end } = request;
  const flow = findFlow(trial);
  const call = `/api/latest/webhook/${encodeURIComponent(flow.name)}/call`;
  const settings = new Map(toNamed(request.settings));
  const children: Promise<Outcome>[] = [];
  const lines: LogLine[] = [];
  const target = target_end === null ? null : call + target_end;
  const given = { input_value, raw_body, base_url, target };
  const surroundings: TrialSurroundings = {
    secrets: Object.fromEntries(toNamed(request.secrets)),
    settings,
    limits: {
      max_input_bytes: config.MAX_BODY_BYTES,
      maxChildDepth: config.MAX_CHILD_DEPTH,
      maxChildren: config.MAX_CHILDREN,
    },
    find: (name) => flows.catalog.find(name),
    start,
  };

  /** A child has what the test gave its parent. */
  function start(child: TrialExecution, text: string | null) {
    const id = newExecutionId();
    const input = { ...toInput(text ?? undefined), base_url };
    const limit = limitAt(ancestorsOf(child));
    // As in a service, one that cannot run has ended with an error.
    const ended = limit(() => perform(id, child, input)).catch((error: Error) =>
      decide(id, "ENDED_ERROR", error.message),
    );
    children.push(ended);
    return { id, ended };
  }

  async function perform(id: string, execution: TrialExecution, input: Given): Promise<Outcome> {
    const { flow: one, parent } = execution;
    const ending = await runInThread(flows.runners, toSpec(one, request), {
      job: toJob(id, one, input),
      timeoutMs: one.timeoutMs,
      graceMs: toMs(config.CANCEL_GRACE_SEC),
      log: (more) => (parent === null ? lines.push(...more) : null),
      operate: (asked) => operateInTrial(surroundings, execution, asked),
    });
    return toEnd(id, ending, config);
  }

  const execution = { flow, parent: null, isAwaited: false, children: 0 };
  const outcome = await perform(newExecutionId(), execution, given);
  // What it started and did not wait for belongs to the test as well.
  for (let child = children.pop(); child !== undefined; child = children.pop()) await child;
  return toResult(outcome, lines, settings);
}

function findFlow({ flows, config, request }: Trial): Flow {
  const root = realpathSync(config.PLUGINS_DIR);
  const files = request.files.map((file) => relative(root, file).split(sep).join("/"));
  const flow = flows.catalog.list().find(({ file }) => files.includes(file));
  if (flow === undefined) {
    const missed = `There is no flow in "${files.join('", "')}"`;
    throw new Error([missed, ...flows.catalog.faults()].join("\n"));
  }
  return flow;
}

function toSpec({ name, spec, error }: Flow, { fake_time }: TrialRequest): FlowSpec {
  if (spec === null || error !== null)
    throw new Error(`Flow "${name}" is broken: ${error?.message ?? "it has never loaded"}`);
  return { ...spec, isolation: "execution", ...(fake_time === null ? {} : { fake_time }) };
}

function toJob(id: string, { name }: Flow, given: Given): Job {
  const execution = {
    id,
    webhook: name,
    flow: name,
    is_productive: true,
    project_id: "test",
    address: "127.0.0.1",
    verified: null,
  };
  return { id, execution: JSON.stringify(execution), raw_body_at: null, ...given };
}

function toEnd(id: string, { ending, expiredMs }: ThreadEnding, config: Config): Outcome {
  if (expiredMs !== null)
    return decide(id, "ENDED_TIMEOUT", `It ran longer than its limit of ${expiredMs / 1000} s`);
  const { MAX_OUTPUT_BYTES: max_output_bytes, RESPONSE_SANDBOX: sandboxed } = config;
  return toOutcome(id, ending, { max_output_bytes, sandboxed });
}

function toResult(
  { status, status_message, output_value, response, warnings }: Outcome,
  lines: readonly LogLine[],
  settings: ReadonlyMap<string, string>,
): TrialResult {
  const told = lines.map(({ level, text }) => ({ level, text }));
  return {
    status,
    status_message,
    output_value,
    response: response === null ? null : JSON.stringify(response),
    log: [...told, ...warnings.map((text) => ({ level: "warn" as const, text }))],
    settings: Object.fromEntries(settings),
  };
}
