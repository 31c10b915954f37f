import { AsyncLocalStorage } from "node:async_hooks";
import { pathToFileURL } from "node:url";
import { workerData } from "node:worker_threads";
import * as js from "../shared/intrinsics.ts";
import { toLongestResponse, type Job } from "../shared/wire/protocol.ts";
import { claim } from "../shared/wire/claims.ts";
import { guardDescriptors } from "./descriptors.ts";
import { openSample } from "./file-handles.ts";
import { FlowLog, replaceConsole } from "./flow-log.ts";
import { closeGlobals } from "./globals.ts";
import { guardHandles } from "./handles.ts";
import { importError, importErrors } from "./import-error.ts";
import { guardModules } from "./modules.ts";
import type { Line } from "./line.ts";
import { OperationClient } from "./operations.ts";
import { replaceProcess } from "./process-object.ts";
import { Realm } from "./realm.ts";
import { reduceBuiltins } from "./reduced-builtins.ts";
import { Ended, abort, drainSoon, inputErrors, run, type Execution } from "./run.ts";
import { RunFrames } from "./run-frames.ts";
import { SharedObjects } from "./shared-objects.ts";
import { isWornOut } from "./thread-age.ts";
import { recordNoRequests, Timeline } from "./timeline.ts";
import { adviseOnFile, cut, relative, toMessage, toStack } from "./text.ts";
import type { Condition, Imported, ThreadData, ToThread } from "../shared/wire/thread-messages.ts";

/**
 * A thread's program: it runs one flow version, one execution at a time. What is set up here
 * stands before any code of the flow is loaded.
 */

const data = workerData as ThreadData;
const isInspecting = data.withheld !== null;
const limits = { ...data.limits, input_members: data.spec.input_members };
const realProcess = process;
/** A flow may replace it. */
const { AbortController } = globalThis;
/** To the server; it stands before the flow is loaded. */
let line: Line;
const client = new OperationClient((number, request) =>
  line.send({ type: "operation", number, request }),
);
/** Which execution the running code belongs to, also in timers and rejections it left behind. */
const belonging = pinned(new AsyncLocalStorage<Execution>());
let current: Execution | null = null;
/** A run has left the thread other than it was: it is not used again. */
let isSpoilt = false;
/** Code of an execution has failed after its end, which is told once. */
let hasStray = false;
let runs = 0;
/** What its runs share; null where there is one run, or none. */
let shared: SharedObjects | null = null;
/** The same once the flow was loaded. */
let realm: Realm | null = null;
let timeline: Timeline | null = null;
const frames = new RunFrames();
let loading: Promise<void> | null = null;
/** The flow's default export, once it was loaded. */
let flow: unknown;

realProcess.on("uncaughtException", onStray);
realProcess.on("unhandledRejection", onStray);

function receive(message: ToThread): void {
  if (message.type === "run") frames.arrived(message);
  else if (message.type === "answer") client.answer(message.number, message.answer);
  else if (current?.job.id === message.id) cutShort(current, message.reason);
}

/** Last lines that wait are sent while there is time: what does not heed the signal has no end. */
function cutShort(execution: Execution, reason: string): void {
  abort(execution, reason);
  execution.log.close();
}

/** With its methods as members of its own: a flow shares the class, and may replace them there. */
function pinned<Store>(storage: AsyncLocalStorage<Store>): AsyncLocalStorage<Store> {
  const { run, getStore, enterWith, disable, exit } = AsyncLocalStorage.prototype;
  return Object.assign(storage, { run, getStore, enterWith, disable, exit });
}

/**
 * Sets the walls around the flow, before any of its code is loaded. Not at the top of the module: a
 * thread that is ended while one of its modules goes on after an await takes its process with it
 * (github.com/nodejs/node/issues/53238).
 */
async function guard(): Promise<void> {
  // Loaded for a test alone.
  if (data.spec.fake_time !== undefined)
    (await import("./fake-time.ts")).fakeTime(data.spec.fake_time, () => client.isWaiting);
  // For its author alone: the flow is loaded once a debugger is there.
  if (data.spec.debug_port !== undefined && !isInspecting)
    (await import("node:inspector")).open(data.spec.debug_port, "127.0.0.1", true);
  if (!isInspecting) line = await openLine(data);
  const fileHandle = await openSample();
  replaceConsole(logNow);
  replaceProcess((level, text) =>
    logNow()?.write(level, [js.endsWith(text, "\n") ? js.slice(text, 0, -1) : text]),
  );
  closeGlobals(data.spec.grants.net, isInspecting);
  guardDescriptors(fileHandle);
  guardHandles();
  reduceBuiltins();
  if (isInspecting) return;
  if (data.spec.isolation === "flow") {
    shared = new SharedObjects();
    recordNoRequests();
  }
  if (data.spec.grants.net) shared?.addFetch();
  line.begin();
}

/** The network is let go of before anything of the flow is loaded, unless it was granted. */
async function openLine({ line: address, spec }: ThreadData): Promise<Line> {
  const { connectLine, openPort } = await import("./line.ts");
  if (address === null) return openPort(receive);
  const opened = await connectLine(address, receive);
  if (!spec.grants.net) realProcess.permission.drop("net");
  return opened;
}

/** Piscina's entry. */
export default async function perform(): Promise<Imported> {
  await guard();
  if (!isInspecting) return await serve();
  // Loaded where it is needed, most threads only run; and before the rules for modules are set.
  const { inspect } = await import("./inspect.ts");
  const imports = guardModules(data, () => {});
  return await inspect(data, imports);
}

/** One run after the other, as they came, as long as they are not recalled. */
async function serve(): Promise<never> {
  let begun = 0;
  for (let frame = await frames.after(null), round = 0; ; frame = await frames.after(frame)) {
    if (frame.round !== round) begun = 0;
    ({ round } = frame);
    for (let at = 0; at < frame.jobs.length && claim(data.claims, round, begun); at += 1) {
      begun += 1;
      await performOne(frame.jobs[at] as Job);
    }
  }
}

/** An execution that leaves its thread spoilt is the last one: the runner ends the thread. */
async function performOne(job: Job): Promise<void> {
  const execution = begin(job);
  const ending = await belonging.run(execution, () => settle(execution));
  runs += 1;
  const condition = conditionAfter(execution);
  if (!end(execution, ending, condition) || condition === "spoilt")
    await new js.Promise<never>(() => {});
  current = null;
}

/** Between this and the end nothing of the flow's own runs. */
function conditionAfter({ pending, isAborted, hasFailed }: Execution): Condition {
  // Answers that are still to come would count as the next run's.
  if (isSpoilt || pending.count > 0 || isWornOut(runs, data.spec)) return "spoilt";
  return hasStray || hasFailed || isAborted ? "doubtful" : "sound";
}

function begin(job: Job): Execution {
  const execution: Execution = {
    job,
    controller: new AbortController(),
    begun: js.monotonicClock(),
    isAborted: false,
    log: new FlowLog(data.limits.max_log_lines, tidy, (said) => {
      if (!execution.ended) line.send({ type: "log", id: job.id, line: said });
    }),
    pending: { count: 0, waiter: null },
    status_message: null,
    response: null,
    fault: null,
    hasFailed: false,
    isSettled: false,
    hasEarlier: false,
    ended: false,
  };
  current = execution;
  return execution;
}

/** What a flow throws may throw itself where it is looked at. */
async function settle(execution: Execution): Promise<Ended> {
  try {
    await (loading ??= importFlow());
    const begun = js.monotonicClock();
    const ending = await runFlow(execution);
    const change = findChange(js.monotonicClock() - begun);
    if (change === null) return ending;
    isSpoilt = true;
    const text = `The run changed ${change}, which all runs share: its thread is not used again`;
    execution.log.write("warn", [text]);
    return ending;
  } catch (thrown) {
    isSpoilt = true;
    return failure(execution, thrown);
  }
}

/** A run that has failed is one like any other: its thread goes on. */
async function runFlow(execution: Execution): Promise<Ended> {
  try {
    return await run(flow, execution, client, limits);
  } catch (thrown) {
    // Nothing of the flow's own has run where the input was refused.
    execution.hasFailed = !inputErrors.holds(thrown);
    const ending = failure(execution, thrown);
    await drainSoon(execution);
    return ending;
  }
}

/** What the next run would find other than this one has found it; null: nothing. @see Realm */
function findChange(ms: number): string | null {
  const change = realm?.findChange(ms) ?? null;
  const isForgotten = change !== null || timeline === null || timeline.forget();
  return isForgotten ? change : "the marks in performance that were there before it";
}

async function importFlow(): Promise<void> {
  const imports = guardModules(data, holdFetch);
  const { href } = pathToFileURL(data.spec.entry);
  try {
    const module: { default?: unknown } = await import(href);
    if (shared !== null) {
      realm = new Realm(shared);
      timeline = new Timeline();
    }
    flow = module.default;
  } catch (error) {
    const told = importError(error, data.spec, imports);
    throw importErrors.mark(new js.Error(told, { cause: error }));
  }
}

/** Before any code that may use the classes of `fetch` they are as the runtime makes them. */
function holdFetch(): void {
  if (realm === null) shared?.addFetch();
  else realm.holdFetch();
}

function failure(execution: Execution, thrown: unknown): Ended {
  const origin = importErrors.holds(thrown) ? thrown.cause : thrown;
  execution.log.write("error", [toStack(origin)]);
  const advice = adviseOnFile(origin, data.spec.directory);
  if (advice !== null) execution.log.write("warn", [`A file was not found: ${advice}`]);
  // Callers see it: where the service keeps its files is not theirs to know.
  const status_message = js.toWellFormed(tidy(toMessage(thrown)));
  const response = keepShort(execution.response);
  return new Ended({ status_message, output_value: null, response });
}

/** A response that is too large is itself why the execution has failed, or would be. */
function keepShort(response: string | null): string | null {
  const longest = toLongestResponse(limits.max_output_bytes);
  return response === null || response.length > longest ? null : response;
}

/** Hands the ending over; false where one was handed over before. */
function end(execution: Execution, ending: Ended, condition: Condition): boolean {
  if (execution.ended) return false;
  const ms = js.monotonicClock() - execution.begun;
  execution.log.close();
  execution.ended = true;
  line.send({ type: "ended", id: execution.job.id, ending, ms, condition });
  return true;
}

/**
 * An error that nobody caught: it fails the execution that it belongs to, and no other. What the
 * engine calls by itself, as when an object is collected, may be of any execution before.
 */
function onStray(thrown: unknown): void {
  const execution = belonging.getStore() ?? (runs === 0 ? current : null);
  if (execution?.ended === true) warnOfEarlier(hasStray ? FAILED : FAILED_FIRST);
  if (execution === null || execution.isSettled || execution.ended) taint(execution, thrown);
  else end(execution, failure(execution, thrown), "spoilt");
}

/** An execution that has ended stays as it was recorded. */
function taint(execution: Execution | null, thrown: unknown): void {
  if (hasStray) return;
  hasStray = true;
  const text = js.toWellFormed(cut(tidy(toStack(thrown))));
  if (!isInspecting) line.send({ type: "stray", id: execution?.job.id ?? "", text });
}

const FAILED = "failed, and what waits for it waits on";
/** Of a thread the first is told. */
const FAILED_FIRST = `${FAILED}: the service's log says where`;
const PRINTED = "printed, which is in no log";

/**
 * Code of an execution that has ended has done something beside the current one, which may depend on it.
 * What it was may be another caller's, and other people may read this log: it is not told.
 */
function warnOfEarlier(what: string): void {
  if (current === null || current.ended || current.isSettled || current.hasEarlier) return;
  current.hasEarlier = true;
  const text = `A callback that an earlier execution has set up ${what}. AsyncResource.bind gives callbacks to the execution that binds them`;
  current.log.write("warn", [text]);
}

function tidy(text: string): string {
  return relative(text, data.spec.directory, data.hidden);
}

/** Of the execution that the running code belongs to, as long as that goes on. */
function logNow(): FlowLog | null {
  const execution = belonging.getStore() ?? current;
  if (execution?.ended === true) warnOfEarlier(PRINTED);
  return execution === null || execution.ended ? null : execution.log;
}
