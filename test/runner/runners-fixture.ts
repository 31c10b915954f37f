import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { bundleRunner } from "../../scripts/bundle.ts";
import { openLog } from "../../src/shared/log.ts";
import { Scheduler, type SchedulerOptions } from "../../src/server/executions/scheduler.ts";
import {
  failed,
  type Ending,
  type FlowSpec,
  type Grants,
  type Job,
  type LogLine,
  type OperationAnswer,
  type OperationRequest,
  type ThreadLimits,
} from "../../src/shared/wire/protocol.ts";
import type { RunnersOptions, VersionKeeper } from "../../src/server/workers/runners.ts";
import { startRunners, type Supervisor } from "../../src/server/workers/supervisor.ts";
import type { Run } from "../../src/server/workers/worker.ts";
import { HUNG_MS } from "../hung.ts";

/** As it is shipped: from sources each process and each thread would strip the types of its own again. */
const PROGRAM = realpathSync(mkdtempSync(join(tmpdir(), "flowhook-program-")));
for (const [name, bytes] of await bundleRunner()) writeFileSync(join(PROGRAM, name), bytes);
process.once("exit", () => rmSync(PROGRAM, { recursive: true, force: true }));

export interface FlowOptions {
  /** Further files of the version folder, by path. */
  readonly files?: Readonly<Record<string, string>>;
  readonly entry?: string;
  readonly grants?: Partial<Grants>;
  readonly memory_mb?: number;
  readonly isolation?: FlowSpec["isolation"];
  readonly input_members?: FlowSpec["input_members"];
}

export interface Bench extends AsyncDisposable {
  readonly folder: string;
  readonly runners: Supervisor;
  readonly scheduler: Scheduler;
  readonly lines: Map<string, LogLine[]>;
  readonly broken: { key: string; message: string }[];
  answer: (request: OperationRequest) => OperationAnswer | Promise<OperationAnswer>;
  /** Writes a version folder. */
  flow(code: string, options?: FlowOptions): FlowSpec;
  start(spec: FlowSpec, job?: Partial<Job>): { id: string; ending: Promise<Ending> };
  run(spec: FlowSpec, job?: Partial<Job>): Promise<Ending>;
  /** Ends a run that has not ended. */
  abort(id: string, reason: string): void;
  /** Text of the log of an execution. */
  log(id: string): string;
}

let last = 0;

const LIMITS = { max_output_bytes: 1_000_000, max_input_bytes: 1_000_000, max_log_lines: 50 };

/** Of runners as they are shipped, unless told otherwise; they forward for their threads. */
export function toRunnersOptions(
  options: Partial<RunnersOptions & ThreadLimits> = {},
): RunnersOptions {
  return {
    runner: join(PROGRAM, "runner.cjs"),
    thread: join(PROGRAM, "thread.cjs"),
    author: join(PROGRAM, "flowhook.mjs"),
    readable: [PROGRAM],
    environment: {},
    reach: { read: [], write: [], net: true },
    runnerMemoryMb: 900,
    limits: { ...LIMITS, ...options },
    log: openLog({ level: process.env["SHOW_LOG"] ?? "silent", format: "json" }),
    hasMessages: true,
    verifyProgram: () => false,
    sockets: null,
    ...options,
  };
}

/** The scheduler and real runners, and flows written to a folder of their own. */
export async function openBench(
  options: Partial<
    RunnersOptions & SchedulerOptions & Pick<VersionKeeper, "verify"> & ThreadLimits
  > = {},
): Promise<Bench> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "flowhook-runner-")));
  const lines = new Map<string, LogLine[]>();
  const broken: Bench["broken"] = [];
  mkdirSync(join(folder, "plugins/node_modules"), { recursive: true });
  const runners = await startRunners(toRunnersOptions({ sockets: folder, ...options }));
  try {
    await runners.ready();
  } catch (error) {
    await runners[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  runners.connect({
    verify: options.verify ?? (() => {}),
    markBroken: (key, message) => void broken.push({ key, message }),
  });
  const scheduler = new Scheduler({
    workerThreads: 64,
    flowMaxConcurrent: 4,
    warmThreads: 8,
    cancelGraceMs: 100,
    record: (runs, handOver) => setImmediate(() => handOver(runs)),
    startWorker: (spec, events) => runners.startWorker(spec, events),
    ...options,
  });
  scheduler.open();
  const active = new Map<string, Run>();
  const bench: Bench = {
    folder,
    runners,
    scheduler,
    lines,
    broken,
    answer: ({ value }) => ({ ok: true, value: value ?? "null" }),
    flow: (code, more) => writeFlow(folder, code, more),
    start(spec, job) {
      const id = job?.id ?? `run-${(last += 1)}`;
      const { promise, resolve } = Promise.withResolvers<Ending>();
      const run = {
        id,
        flow: spec.flow,
        spec,
        job: toJob(id, spec, job),
        link: null,
        turn: Infinity,
        abortReason: null,
        timeoutMs: 3_600_000,
        returned: () => {},
        expired: () => {},
        log: (added: readonly LogLine[]) =>
          void lines.set(id, [...(lines.get(id) ?? []), ...added]),
        operate: async (request: OperationRequest) => bench.answer(request),
        ended: (ending: Ending) => (active.delete(id), resolve(ending)),
      };
      active.set(id, run);
      scheduler.enqueue(run);
      return { id, ending: promise };
    },
    run: (spec, job) => bench.start(spec, job).ending,
    abort(id, reason) {
      const run = active.get(id);
      if (run !== undefined && scheduler.abort(run, reason)) run.ended(failed(reason));
    },
    log: (id) => (lines.get(id) ?? []).map(({ level, text }) => `${level} ${text}`).join("\n"),
    async [Symbol.asyncDispose]() {
      scheduler.close();
      await runners[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return bench;
}

/** Waits for what no event tells. */
export async function until(holds: () => boolean, deadline_ms = HUNG_MS): Promise<void> {
  const deadline = performance.now() + deadline_ms;
  while (!holds() && performance.now() < deadline) await delay(10);
  assert.ok(holds());
}

function writeFlow(folder: string, code: string, options: FlowOptions = {}): FlowSpec {
  const version = `v${(last += 1)}`;
  const directory = join(folder, version);
  const entry = join(directory, options.entry ?? "flow.ts");
  for (const [path, text] of Object.entries({
    ...options.files,
    [options.entry ?? "flow.ts"]: code,
  })) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return {
    key: `flow-${version}@${version}`,
    flow: `flow-${version}`,
    version,
    directory,
    entry,
    plugins_dir: join(folder, "plugins"),
    grants: { net: false, read: [], write: [], secrets: [], ...options.grants },
    memory_mb: options.memory_mb ?? 64,
    isolation: options.isolation ?? "flow",
    stripped: {},
    input_members: options.input_members ?? null,
  };
}

export function toJob(id: string, spec: FlowSpec, job: Partial<Job> = {}): Job {
  const execution = { id, webhook: "w", flow: spec.flow, is_productive: true, project_id: "p" };
  return {
    id,
    execution: JSON.stringify(execution),
    input_value: '{"method":"POST","path":null,"headers":{},"query":{},"json":{"name":"Ada"}}',
    raw_body_at: null,
    raw_body: '{"name":"Ada"}',
    base_url: "http://flowhook",
    target: "/api/latest/webhook/w/call",
    ...job,
  };
}
