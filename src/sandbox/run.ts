import {
  toLongestResponse,
  type Ending,
  type FlowSpec,
  type Job,
  type ThreadLimits,
} from "../shared/wire/protocol.ts";
import * as js from "../shared/intrinsics.ts";
import { parseExactly } from "../shared/parse-exactly.ts";
import { fromResponse, rawBodyOf, toRequest } from "./fetch-flow.ts";
import type { FlowLog } from "./flow-log.ts";
import { makeOperations, type OperationClient, type Pending } from "./operations.ts";
import { OwnErrors } from "./own-errors.ts";
import { adviseOnBody, fillRequest, keepBeside, makesWhole } from "./request-members.ts";
import { cut, shown } from "./text.ts";
import { toValueText } from "./value-text.ts";
import { toHtmlResponse, toJsonResponse, toResponse } from "./webhook-response.ts";

/** One execution in its thread: from the job's texts to the texts of its ending. */

const { DOMException } = globalThis;
const { nextTick } = process;
const { setTimeout: later, clearTimeout: forget } = globalThis;
/** A flow may replace the method. */
const abortAt = js.uncurry<AbortController, [reason: unknown], void>(
  AbortController.prototype.abort,
);

/** What an execution has said so far. */
export interface Execution {
  readonly job: Job;
  readonly controller: AbortController;
  /** As monotonicClock(). */
  readonly begun: number;
  isAborted: boolean;
  readonly log: FlowLog;
  readonly pending: Pending;
  status_message: string | null;
  response: string | null;
  /** What was wrong with the last response, which may have been caught. */
  fault: { readonly error: unknown } | null;
  /** What it has thrown was the flow's own. */
  hasFailed: boolean;
  /** Whether it has thrown, and its ending is made: what fails from then on changes none. */
  isSettled: boolean;
  /** Whether it was warned of code that earlier executions have left. */
  hasEarlier: boolean;
  ended: boolean;
}

/** What a run may take and give, and how its input is read. */
export interface RunLimits extends ThreadLimits, Pick<FlowSpec, "input_members"> {}

export class Ended implements Ending {
  readonly status: Ending["status"];
  readonly status_message: string | null;
  readonly output_value: string | null;
  readonly response: string | null;

  /** One without an output has failed. */
  constructor({ status_message, output_value, response }: Omit<Ending, "status">) {
    this.status = output_value === null ? "ENDED_ERROR" : "ENDED_SUCCESS";
    this.status_message = status_message;
    this.output_value = output_value;
    this.response = response;
  }
}
js.inheritNothing(Ended);

/** The request does not fit the flow's input schema: none of its `run` was run. */
export const inputErrors = new OwnErrors();

interface Schema {
  validate(value: unknown): unknown;
}

/**
 * Runs the flow's default export in whichever form it has. What it started and did not await
 * belongs to it: it ends with the last operation.
 * @throws whatever the flow throws, and where its result cannot be stored
 */
export async function run(
  flow: unknown,
  execution: Execution,
  client: Pick<OperationClient, "ask">,
  limits: RunLimits,
): Promise<Ended> {
  const ending = await call(flow, execution, client, limits);
  if (execution.pending.count > 0)
    await drain(execution, (message) =>
      execution.log.write("error", ["An operation that was not awaited failed:", message]),
    );
  return ending;
}

/**
 * What has waited for an answer asks for the next before the tick is over; what failed, and nobody
 * has caught, is told after it.
 */
async function drain(
  { pending }: Execution,
  failed: (message: string) => void,
  isLate = () => false,
): Promise<void> {
  while (pending.count > 0 && !isLate()) {
    await new js.Promise<void>((resolve) => (pending.waiter = { failed, drained: resolve }));
    await new js.Promise<void>((resolve) => nextTick(resolve));
  }
}

/** Its caller waits, and an operation may take as long as another execution. */
const SOON_MS = 100;

/** Of a run that has failed. What it asked for together with that may fail as well, and says no more. */
export async function drainSoon(execution: Execution): Promise<void> {
  execution.isSettled = true;
  if (execution.pending.count === 0) return;
  let isLate = false;
  const timer = later(() => {
    isLate = true;
    execution.pending.waiter?.drained();
  }, SOON_MS);
  const failed = (): void => {};
  await drain(execution, failed, () => isLate);
  forget(timer);
}

/** The mark of defineFlow: an application with `fetch` may have a `run` of its own. */
const DEFINED = Symbol.for("flowhook.flow");

async function call(
  flow: unknown,
  execution: Execution,
  client: Pick<OperationClient, "ask">,
  limits: RunLimits,
): Promise<Ended> {
  const { max_output_bytes } = limits;
  const input = fillRequest(parseExactly(execution.job.input_value));
  const member = (name: PropertyKey): unknown =>
    js.isObject(flow) ? js.get(flow, name) : undefined;
  const start = member("run");
  const isDefined = typeof start === "function";
  const handle = member(DEFINED) === true ? null : member("fetch");
  if (typeof handle === "function") {
    const { job, controller, log } = execution;
    const request = toRequest(job, input, controller.signal, log);
    const answered: unknown = await js.apply(handle, flow, [request]);
    const { method } = request;
    execution.response = await fromResponse(answered, method, max_output_bytes, log);
    return toEnding(execution, null, max_output_bytes);
  }
  const act = isDefined ? start : flow;
  if (typeof act !== "function") throw new js.Error("The file has no flow as its default export");
  const value = isDefined ? await validate(member("input"), input, limits.input_members) : input;
  const given = makeFlow(execution, value, client, limits);
  const returned: unknown = await js.apply(act, isDefined ? flow : undefined, [given]);
  return toEnding(execution, returned, max_output_bytes);
}

/** Gives the signal to the flow; the thread is terminated later where it does not heed it. */
export function abort(execution: Execution, reason: string): void {
  execution.isAborted = true;
  abortAt(execution.controller, new DOMException(reason, "AbortError"));
}

/**
 * Without accessors: for each object that has some of its own the engine makes a hidden class, which
 * keeps all that they reach until the next full collection.
 */
function makeFlow(
  execution: Execution,
  input_value: unknown,
  client: Pick<OperationClient, "ask">,
  { max_input_bytes }: ThreadLimits,
): object {
  const { job, log, controller } = execution;
  return js.freeze({
    input_value,
    raw_body: rawBodyOf(job),
    execution: js.freeze(js.parse(job.execution)),
    signal: controller.signal,
    log: js.freeze({
      debug: (...values: unknown[]) => log.write("debug", values),
      info: (...values: unknown[]) => log.write("info", values),
      warn: (...values: unknown[]) => log.write("warn", values),
      error: (...values: unknown[]) => log.write("error", values),
    }),
    set_status_message: (text: unknown) => {
      execution.status_message = js.toWellFormed(cut(js.String(text)));
    },
    webhook_response: (given: unknown) => respond(execution, () => toResponse(given, log)),
    webhook_html_response: (body: unknown) => respond(execution, () => toHtmlResponse(body)),
    webhook_json_response: (body: unknown) => respond(execution, () => toJsonResponse(body, log)),
    ...makeOperations(execution, client, max_input_bytes),
  });
}

/** The last counts, also where it is wrong and the flow catches that. */
function respond(execution: Execution, make: () => string): void {
  try {
    execution.response = make();
    execution.fault = null;
  } catch (error) {
    execution.fault = { error };
    throw error;
  }
}

/** @throws one of inputErrors, listing each path of the input and what was expected there. */
async function validate(
  input: unknown,
  value: unknown,
  named: readonly string[] | null,
): Promise<unknown> {
  const standard: unknown = js.isObject(input) ? js.get(input, "~standard") : undefined;
  if (!isSchema(standard)) return value;
  const result = await standard.validate(value);
  if (!js.isObject(result)) throw new js.TypeError("The flow's input schema gave no result");
  const issues: unknown = js.get(result, "issues");
  if (!js.isArray(issues)) {
    const made = js.get(result, "value");
    return makesWhole(input) ? made : keepBeside(made, value, named);
  }
  const errors: string[] = [];
  for (let at = 0; at < issues.length && at < MAX_ISSUES; at += 1)
    js.push(errors, describeIssue(issues[at]));
  const advice = adviseOnBody(namesOf(issues[0])[0], value);
  const found = `Input does not fit the flow's schema: ${js.join(errors, "; ")}${advice}`;
  throw inputErrors.mark(new js.Error(found));
}

/** Told of one input. */
const MAX_ISSUES = 20;

function describeIssue(issue: unknown): string {
  if (!js.isObject(issue)) return shown(issue);
  const names = namesOf(issue);
  const path = names.length === 0 ? "input_value" : js.join(names, ".");
  return `${path}: ${js.String(js.get(issue, "message"))}`;
}

/** The way to where an issue is. */
function namesOf(issue: unknown): string[] {
  const names: string[] = [];
  const path: unknown = js.isObject(issue) ? js.get(issue, "path") : undefined;
  if (!js.isArray(path)) return names;
  for (let at = 0; at < path.length; at += 1) {
    const part: unknown = path[at];
    js.push(names, js.String(js.isObject(part) ? js.get(part, "key") : part));
  }
  return names;
}

/** @throws {Error} where its response is wrong, JSON cannot say the value, or it is too long or too deep. */
function toEnding(execution: Execution, value: unknown, maxBytes: number): Ended {
  const output_value =
    value === undefined ? "null" : toValueText(value, "flow's result", execution.log);
  // Its `toJSON` may have set all of them.
  if (execution.fault !== null) throw execution.fault.error;
  checkSize("output", output_value, maxBytes);
  const { status_message, response } = execution;
  checkResponse(response, maxBytes);
  return new Ended({ status_message, output_value, response });
}

/** A string has at most three bytes per unit, so that short ones need no count. */
function checkSize(what: string, text: string, maxBytes: number): void {
  if (text.length * 3 <= maxBytes) return;
  const bytes = js.byteLength(text);
  if (bytes > maxBytes)
    throw new js.Error(`The flow's ${what} has ${bytes} bytes, at most ${maxBytes} are stored`);
}

/** The limit is the body's own size: what JSON adds around it does not count. */
function checkResponse(response: string | null, maxBytes: number): void {
  if (response === null || response.length * 3 <= maxBytes) return;
  if (response.length > toLongestResponse(maxBytes))
    throw new js.Error(`The custom response is too large: ${response.length} characters as JSON`);
  const { body, body_encoding } = js.parse(response) as { body: string; body_encoding?: string };
  const bytes = js.byteLength(body, body_encoding === "base64" ? "base64" : "utf8");
  if (bytes > maxBytes)
    throw new js.Error(
      `The flow's response has a body of ${bytes} bytes, at most ${maxBytes} are sent`,
    );
}

function isSchema(value: unknown): value is Schema {
  return js.isObject(value) && typeof js.get(value, "validate") === "function";
}
