import { AsyncLocalStorage } from "node:async_hooks";
import { pathToFileURL } from "node:url";
import { MessageChannel, parentPort, workerData } from "node:worker_threads";
import type { Ending, Job, LogLevel } from "../runner/protocol.ts";
import { claim } from "./claims.ts";
import { guardDescriptors } from "./descriptors.ts";
import { makeLog, replaceConsole } from "./flow-log.ts";
import { closeGlobals } from "./globals.ts";
import { ImportFault, importFault } from "./import-fault.ts";
import { guardModules } from "./modules.ts";
import { openDesk } from "./operations.ts";
import { listen } from "./ports.ts";
import { replaceProcess } from "./process-object.ts";
import { abort, run, type Execution } from "./run.ts";
import { relative, toMessage, toStack } from "./text.ts";
import type {
  FromThread,
  RunResult,
  Task,
  TaskResult,
  ThreadData,
  ToThread,
} from "./thread-messages.ts";

/**
 * A thread's program: it runs one flow version, one execution at a time. What is set up here
 * stands before any code of the flow is loaded.
 */

/** What a flow leaves behind in its thread goes with it; a new one costs about 10 ms. */
const MAX_RUNS = 10_000;

const data = workerData as ThreadData;
const realProcess = process;
// Flow code may patch it later.
const elapsed = performance.now.bind(performance);
const { port1: port, port2 } = new MessageChannel();
const post = port.postMessage.bind(port) as (message: FromThread) => void;
const desk = openDesk((number, request) => post({ type: "operation", number, request }));
/** Which execution the running code belongs to, also in timers and rejections it left behind. */
const belonging = new AsyncLocalStorage<Execution>();
/** Aborted before their job arrived. */
const abortedEarly = new Map<string, string>();
let current: Execution | null = null;
/** Set when code of an execution failed after its end: the thread is not used again. */
let tainted = false;
let runs = 0;
let flow: Promise<unknown> | null = null;

listen(port, (from) => {
  const message = from as ToThread;
  if (message.type === "answer") desk.answer(message.number, message.answer);
  else hear(message.id, message.reason);
});
realProcess.on("uncaughtException", onStray);
realProcess.on("unhandledRejection", onStray);
parentPort?.postMessage({ port: port2 }, [port2]);
replaceConsole(write);
replaceProcess((level, text) => write(level, [text.replace(/\n$/, "")]));
closeGlobals(data.spec.grants.net);
guardDescriptors(data.spec.grants);

/** Piscina's entry. */
export default async function perform(task: Task): Promise<TaskResult> {
  if (task.type === "run") return performAll(task.jobs);
  // Loaded where it is needed, most threads only run; and before the rules for modules are set.
  const { inspect } = await import("./inspect.ts");
  return { type: "inspected", inspection: await inspect(data, guardModules(data)) };
}

/** One after the other, as long as they are not taken back; each is told before the next begins. */
async function performAll(jobs: readonly Job[]): Promise<RunResult> {
  const begun = elapsed();
  let last = await performOne(jobs[0] as Job);
  let count = 1;
  while (count < jobs.length && claim(data.claims, count)) {
    post({ type: "ran", id: last.id, ending: last.ending });
    last = await performOne(jobs[count] as Job);
    count += 1;
  }
  return { type: "ended", ...last, mean_ms: (elapsed() - begun) / count };
}

/** Of a failed execution it never returns: the runner ends the thread. */
async function performOne(job: Job): Promise<Pick<RunResult, "id" | "ending" | "lines">> {
  const execution = begin(job);
  const ending = await belonging.run(execution, () => settle(execution));
  runs += 1;
  const isSpent = execution.ended || tainted || runs >= MAX_RUNS;
  if (isSpent || ending.status !== "ENDED_SUCCESS" || ending.aborted) {
    end(execution, ending);
    return new Promise<never>(() => {});
  }
  execution.ended = true;
  current = null;
  return { id: job.id, ending, lines: execution.log.count };
}

function begin(job: Job): Execution {
  const execution: Execution = {
    job,
    controller: null,
    aborted: null,
    log: makeLog(data.max_log_lines, tidy, (line) => post({ type: "log", id: job.id, line })),
    pending: new Set(),
    status_message: null,
    response: null,
    ended: false,
  };
  current = execution;
  const reason = abortedEarly.get(job.id);
  if (reason !== undefined) abort(execution, reason);
  abortedEarly.delete(job.id);
  return execution;
}

async function settle(execution: Execution): Promise<Ending> {
  try {
    const ending = await run(await load(), execution, desk, data.max_output_bytes);
    return execution.aborted === null ? ending : { ...ending, aborted: true };
  } catch (thrown) {
    return failure(execution, thrown);
  }
}

function load(): Promise<unknown> {
  flow ??= importFlow();
  return flow;
}

async function importFlow(): Promise<unknown> {
  const imports = guardModules(data);
  try {
    const module: { default?: unknown } = await import(pathToFileURL(data.spec.entry).href);
    return module.default;
  } catch (error) {
    throw new ImportFault(importFault(error, data.spec.directory, imports), { cause: error });
  }
}

function failure(execution: Execution, thrown: unknown): Ending {
  const origin = thrown instanceof ImportFault ? thrown.cause : thrown;
  execution.log.write("error", [toStack(origin)]);
  return {
    status: "ENDED_ERROR",
    status_message: toMessage(thrown).toWellFormed(),
    output_value: null,
    response: execution.response,
    aborted: execution.aborted !== null,
  };
}

/** Hands the ending over; the runner then terminates the thread. */
function end(execution: Execution, ending: Ending): void {
  if (execution.ended) return;
  execution.ended = true;
  post({ type: "ended", id: execution.job.id, ending });
}

/** The job may still be on its way: it comes through another channel. */
function hear(id: string, reason: string): void {
  if (current?.job.id === id) abort(current, reason);
  else if (abortedEarly.size < 1000) abortedEarly.set(id, reason);
}

/** An error that nobody caught: it fails the execution that it belongs to, and no other. */
function onStray(thrown: unknown): void {
  const execution = belonging.getStore() ?? current;
  if (execution === null || execution.ended) tainted = true;
  else end(execution, failure(execution, thrown));
}

function tidy(text: string): string {
  return relative(text, data.spec.directory, data.hidden);
}

function write(level: LogLevel, values: readonly unknown[]): void {
  const execution = belonging.getStore() ?? current;
  if (execution !== null && !execution.ended) execution.log.write(level, values);
}
