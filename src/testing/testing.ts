import type { InputValue, JsonValue } from "../shared/author.ts";
import { nearestWord } from "../shared/nearest.ts";
import { parseExactly } from "../shared/parse-exactly.ts";
import {
  IMPORTED,
  type TrialAnswer,
  type TrialRequest,
  type TrialResult,
} from "../shared/wire/trial.ts";

/** What tests import as "flowhook/testing". `flowhook flow test` runs them. */

/** Any members of input_value; the rest is filled in as a call has it. */
export interface TestInput extends Partial<InputValue> {
  /** The body as it was sent; JSON of `json` unless given. */
  readonly raw_body?: string;
}

/** What surrounds the flow. */
export interface TestOptions {
  /** By name; the flow must declare those that it asks for. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** By name: what JSON can say. */
  readonly settings?: Readonly<Record<string, JsonValue>>;
  /**
   * The time that the flow sees. It stands still; timers end at once, in their order, and move it
   * on. Without it the real clock runs.
   */
  readonly now?: Date | string | number;
}

/** What the flow made, as the execution's record has it. */
export interface TestResult {
  readonly status: "ENDED_SUCCESS" | "ENDED_ERROR" | "ENDED_TIMEOUT";
  readonly status_message: string | null;
  readonly output_value: unknown;
  /** Made by webhook_response and its like, or by a `fetch` flow; null without one. */
  readonly response: TestResponse | null;
  readonly log: readonly TestLogLine[];
  /** All settings as they are after the run. */
  readonly settings: Readonly<Record<string, JsonValue>>;
}

export interface TestResponse {
  readonly status: number;
  /** Lower-case names; several cookies are a list. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  /** `base64` where the body is no text. */
  readonly body_encoding?: "base64";
}

export interface TestLogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly text: string;
}

/**
 * Runs a flow once, in a fresh thread of the real sandbox.
 *
 * @param flow default export of the flow's file
 * @param input members of input_value, or a Request; an empty GET without it. What has other members
 *   than a request is input_value as it is, as a flow is given that another flow starts
 * @throws Error where it is no flow of the folder, or the flow cannot be loaded; what the flow
 *   itself throws is in the result
 */
export async function testFlow(
  flow: object,
  input: TestInput | Request | JsonValue = {},
  options: TestOptions = {},
): Promise<TestResult> {
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) throw new TypeError(describeUnknown(unknown, "options", OPTIONS));
  const files = await findFiles(flow);
  const made = input instanceof Request ? await fromRequest(input) : fromInput(input);
  const { secrets = {}, settings = {}, now } = options;
  for (const [name, value] of Object.entries(secrets))
    requireText(`options.secrets.${name}`, value);
  const result = await ask({
    files,
    ...made,
    secrets: { ...secrets },
    settings: toTexts(settings),
    fake_time: now === undefined ? null : toTime(now),
  });
  return {
    status: result.status as TestResult["status"],
    status_message: result.status_message,
    output_value: fromText(result.output_value),
    response: fromText(result.response) as TestResponse | null,
    log: result.log,
    settings: fromTexts(result.settings),
  };
}

type Made = Pick<TrialRequest, "input_value" | "raw_body" | "origin" | "target_end">;

const MEMBERS = ["method", "path", "headers", "query", "json", "auth", "raw_body"];
const OPTIONS = ["secrets", "settings", "now"];
const ORIGIN = "http://flowhook";

function fromInput(input: TestInput | JsonValue): Made {
  if (!isOfRequest(input))
    return {
      input_value: JSON.stringify(input),
      raw_body: null,
      origin: ORIGIN,
      target_end: null,
    };
  const { raw_body, ...given } = input;
  requireText("raw_body", raw_body ?? undefined);
  const { json } = given;
  const hasBody = json !== undefined;
  const value = {
    method: hasBody ? "POST" : "GET",
    path: null,
    query: {},
    ...given,
    headers: { ...(hasBody && { "content-type": "application/json" }), ...given.headers },
  };
  return {
    input_value: JSON.stringify(value),
    raw_body: raw_body ?? (hasBody ? JSON.stringify(json) : null),
    origin: ORIGIN,
    target_end: null,
  };
}

/**
 * Whether it is filled in as a call has it. A value of the flow's own is not.
 * @throws TypeError where a member was misspelt beside one of a request
 */
function isOfRequest(input: TestInput | JsonValue): input is TestInput {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return false;
  const names = Object.keys(input);
  const unknown = names.filter((name) => !MEMBERS.includes(name));
  const isRequest = unknown.length < names.length;
  const isMeant = (name: string) => "raw_body" in input || (isRequest && isMisspelt(name));
  const wrong = unknown.find(isMeant);
  if (wrong !== undefined) throw new TypeError(describeUnknown(wrong, "input", MEMBERS));
  const { query = {}, headers = {} } = input as TestInput;
  return unknown.length === 0 && [query, headers].every((texts) => typeof texts === "object");
}

/** Short words are near to others that mean something: "data" to "path". */
function isMisspelt(name: string): boolean {
  return name.length > 4 && nearestWord(name, MEMBERS) !== null;
}

function describeUnknown(name: string, of: string, known: readonly string[]): string {
  const nearest = nearestWord(name, known);
  const hint = nearest === null ? `known are ${known.join(", ")}` : `did you mean "${nearest}"?`;
  return `Unknown member "${name}" of the ${of}: ${hint}`;
}

/** What it is may be a secret: the value is not told. @throws TypeError */
function requireText(name: string, value: unknown): void {
  if (value === undefined || typeof value === "string") return;
  const kind = value === null ? "null" : `a value of the type ${typeof value}`;
  const found = value instanceof Uint8Array ? "bytes" : kind;
  throw new TypeError(`Found ${found} for ${name}, expected a text`);
}

/** Its path is what follows `/call`, or the whole where it has none. */
async function fromRequest(request: Request): Promise<Made> {
  const url = new URL(request.url);
  const [, after] = /\/call(?:\/(.*))?$/.exec(url.pathname) ?? [null, url.pathname.slice(1)];
  const path =
    after === undefined || (after === "" && !url.pathname.endsWith("/call/")) ? null : after;
  const text = await request.text();
  const json = text === "" ? undefined : parseBody(text, request.headers.get("content-type") ?? "");
  const input: InputValue = {
    method: request.method,
    path,
    headers: Object.fromEntries(request.headers),
    query: toFirst(url.searchParams),
    ...(json === undefined ? {} : { json }),
  };
  return {
    input_value: JSON.stringify(input),
    raw_body: text === "" ? null : text,
    origin: url.origin,
    target_end: `${path === null ? "" : `/${path}`}${url.search}`,
  };
}

/** Of a repeated name the first value, as in a call. */
function toFirst(search: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...search].toReversed());
}

function parseBody(text: string, type: string): unknown {
  const [mime = ""] = type.split(";");
  if (/^application\/(?:[\w.-]+\+)?json$/i.test(mime.trim())) return parseExactly(text);
  if (/^application\/x-www-form-urlencoded$/i.test(mime.trim()))
    return toFirst(new URLSearchParams(text));
  throw new TypeError(
    `Found a body of the type "${type}", expected application/json or a form. For others, give ` +
      `members of input_value instead of a Request`,
  );
}

/** The modules that tests have imported and whose default export is the flow. */
async function findFiles(flow: object): Promise<string[]> {
  const imported: unknown = Reflect.get(globalThis, Symbol.for(IMPORTED));
  if (!(imported instanceof Set) || process.send === undefined)
    throw new Error("testFlow works in the tests that `flowhook flow test` runs");
  const isObject = typeof flow === "function" || (typeof flow === "object" && flow !== null);
  if (!isObject)
    throw new TypeError(`Found ${String(flow)}, expected the default export of a flow`);
  const files: string[] = [];
  for (const url of imported as Set<string>) {
    const module = (await import(url).catch(() => ({}))) as { default?: unknown };
    if (module.default === flow) files.push(decodeURIComponent(new URL(url).pathname));
  }
  if (files.length > 0) return files;
  throw new TypeError(
    'This is the default export of no flow: expected what `import flow from "./NAME.ts"` gives',
  );
}

const waiting = new Map<number, (answer: TrialAnswer) => void>();
let last = 0;

/** The channel keeps the process alive while an answer is waited for, and no longer. */
function ask(request: Omit<TrialRequest, "number">): Promise<TrialResult> {
  if (last === 0)
    process.on("message", (answer: TrialAnswer) => waiting.get(answer.number)?.(answer));
  last += 1;
  const number = last;
  process.channel?.ref();
  return new Promise((resolve, reject) => {
    waiting.set(number, (answer) => {
      waiting.delete(number);
      if (waiting.size === 0) process.channel?.unref();
      if (answer.ok) resolve(answer.result);
      else reject(new Error(answer.message));
    });
    process.send?.({ number, ...request });
  });
}

function toTime(now: Date | string | number): number {
  const time = new Date(now).getTime();
  if (Number.isNaN(time)) throw new TypeError(`Found "${String(now)}" for now, expected a time`);
  return time;
}

function toTexts(values: Readonly<Record<string, JsonValue>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)]),
  );
}

function fromTexts(texts: Readonly<Record<string, string>>): Record<string, JsonValue> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, parseExactly(text) as JsonValue]),
  );
}

function fromText(text: string | null): unknown {
  return text === null ? null : parseExactly(text);
}
