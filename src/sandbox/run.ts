import { rawBodyOf, type Ending, type Job } from "../runner/protocol.ts";
import { fromResponse, toRequest } from "./fetch-flow.ts";
import type { FlowLog } from "./flow-log.ts";
import { makeOperations, type Desk } from "./operations.ts";
import { cut, shown, toMessage } from "./text.ts";
import { toHtmlResponse, toJsonResponse, toResponse } from "./webhook-response.ts";

/** One execution in its thread: from the job's texts to the texts of its ending. */

// Flow code may patch them later.
const { parse, stringify } = JSON;
const { byteLength } = Buffer;
const allSettled = Promise.allSettled.bind(Promise);

/** What an execution has said so far. */
export interface Execution {
  readonly job: Job;
  /** Made when the flow first asks for its signal: most never do. */
  controller: AbortController | null;
  /** Why it was aborted. */
  aborted: string | null;
  readonly log: FlowLog;
  /** Operations that wait for their answer. */
  readonly pending: Set<Promise<unknown>>;
  status_message: string | null;
  response: string | null;
  ended: boolean;
}

interface Schema {
  validate(value: unknown): unknown;
}

interface Issue {
  readonly message?: unknown;
  readonly path?: unknown;
}

/**
 * Runs the flow's default export in whichever form it has. What it started and did not await
 * belongs to it: it ends with the last operation.
 * @throws whatever the flow throws, and where its result cannot be stored
 */
export async function run(
  flow: unknown,
  execution: Execution,
  desk: Desk,
  maxBytes: number,
): Promise<Ending> {
  const ending = await call(flow, execution, desk, maxBytes);
  if (execution.pending.size === 0) return ending;
  for (const outcome of await allSettled([...execution.pending])) {
    if (outcome.status === "fulfilled") continue;
    execution.log.write("error", [
      "An operation that was not awaited failed:",
      toMessage(outcome.reason),
    ]);
  }
  return ending;
}

async function call(
  flow: unknown,
  execution: Execution,
  desk: Desk,
  maxBytes: number,
): Promise<Ending> {
  const input = parse(execution.job.input_value);
  const member = (name: string): unknown => (isObject(flow) ? Reflect.get(flow, name) : undefined);
  const [start, handle] = [member("run"), member("fetch")];
  if (typeof start === "function") {
    const value = await validate(member("input"), input);
    return toEnding(execution, await start.call(flow, makeFlow(execution, value, desk)), maxBytes);
  }
  if (typeof handle === "function") {
    const request = toRequest(execution.job, input, signalOf(execution));
    execution.response = await fromResponse(await handle.call(flow, request), maxBytes);
    return toEnding(execution, null, maxBytes);
  }
  if (typeof flow !== "function") throw new Error("The file has no flow as its default export");
  return toEnding(execution, await flow(makeFlow(execution, input, desk)), maxBytes);
}

/** Gives the signal to the flow; the thread is terminated later where it does not heed it. */
export function abort(execution: Execution, reason: string): void {
  execution.aborted = reason;
  execution.controller?.abort(new DOMException(reason, "AbortError"));
}

function signalOf(execution: Execution): AbortSignal {
  if (execution.controller === null) {
    execution.controller = new AbortController();
    if (execution.aborted !== null) abort(execution, execution.aborted);
  }
  return execution.controller.signal;
}

function makeFlow(execution: Execution, input_value: unknown, desk: Desk): object {
  const { job, log } = execution;
  return Object.freeze({
    input_value,
    raw_body: rawBodyOf(job) ?? undefined,
    execution: Object.freeze(parse(job.execution)),
    get signal() {
      return signalOf(execution);
    },
    log: Object.freeze({
      debug: (...values: unknown[]) => log.write("debug", values),
      info: (...values: unknown[]) => log.write("info", values),
      warn: (...values: unknown[]) => log.write("warn", values),
      error: (...values: unknown[]) => log.write("error", values),
    }),
    set_status_message: (text: unknown) => {
      execution.status_message = cut(String(text)).toWellFormed();
    },
    webhook_response: (given: unknown) => void (execution.response = toResponse(given)),
    webhook_html_response: (body: unknown) => void (execution.response = toHtmlResponse(body)),
    webhook_json_response: (body: unknown) => void (execution.response = toJsonResponse(body)),
    ...makeOperations(job.id, desk, execution.pending),
  });
}

/** @throws {Error} listing each path of the input and what was expected there. */
async function validate(input: unknown, value: unknown): Promise<unknown> {
  const standard: unknown = isObject(input) ? Reflect.get(input, "~standard") : undefined;
  if (!isSchema(standard)) return value;
  const result = await standard.validate(value);
  if (!isObject(result)) throw new TypeError("The flow's input schema gave no result");
  const issues: unknown = Reflect.get(result, "issues");
  if (!Array.isArray(issues)) return Reflect.get(result, "value");
  const faults = issues
    .slice(0, 20)
    .map((issue: Issue) => `${pathOf(issue)}: ${String(issue.message)}`);
  throw new Error(`Input does not fit the flow's schema: ${faults.join("; ")}`);
}

function pathOf(issue: Issue): string {
  if (!Array.isArray(issue.path) || issue.path.length === 0) return "input_value";
  return issue.path
    .map((part: unknown) => String(isObject(part) ? Reflect.get(part, "key") : part))
    .join(".");
}

/** @throws {Error} where JSON cannot say the value, or it is too long. */
function toEnding(execution: Execution, value: unknown, maxBytes: number): Ending {
  const output_value = value === undefined ? "null" : toJson(value);
  checkSize("output", output_value, maxBytes);
  checkResponse(execution.response, maxBytes);
  return {
    status: "ENDED_SUCCESS",
    status_message: execution.status_message,
    output_value,
    response: execution.response,
    aborted: false,
  };
}

function toJson(value: unknown): string {
  let text: unknown;
  try {
    text = stringify(value);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : "a toJSON method threw";
    throw new Error(`The flow's result cannot be written as JSON: ${reason}`, { cause: error });
  }
  if (typeof text === "string") return text;
  throw new Error(`The flow's result cannot be written as JSON: it is ${shown(value)}`);
}

/** A string has at most three bytes per unit, so that short ones need no count. */
function checkSize(what: string, text: string, maxBytes: number): void {
  if (text.length * 3 <= maxBytes) return;
  const bytes = byteLength(text);
  if (bytes > maxBytes)
    throw new Error(`The flow's ${what} has ${bytes} bytes, at most ${maxBytes} are stored`);
}

/** The limit is the body's own size: what JSON adds around it does not count. */
function checkResponse(response: string | null, maxBytes: number): void {
  if (response === null || response.length * 3 <= maxBytes) return;
  const { body, body_encoding } = parse(response) as { body: string; body_encoding?: string };
  const bytes = body_encoding === "base64" ? base64Length(body) : byteLength(body);
  if (bytes > maxBytes)
    throw new Error(
      `The flow's response has a body of ${bytes} bytes, at most ${maxBytes} are sent`,
    );
}

function base64Length(text: string): number {
  return (text.length / 4) * 3 - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function isSchema(value: unknown): value is Schema {
  return isObject(value) && typeof Reflect.get(value, "validate") === "function";
}
