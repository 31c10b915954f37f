import type { Answer } from "./client.ts";
import { HUNG_MS } from "../hung.ts";
import type { RuleId } from "./coverage.ts";
import type { Json, Service, ServiceOptions, WebhookOptions } from "./service.ts";

/**
 * One service with one configuration, and the rows that run against it one after the other.
 * `<token>` in a row's texts stands for the administrator's login token.
 */
export interface Group extends ServiceOptions {
  readonly name: string;
  /** Made before the webhooks, by their names. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly webhooks?: Readonly<Record<string, WebhookOptions & { readonly flow: string }>>;
  readonly rows: readonly Row[];
}

export type Row = CallRow | StoryRow;

interface RowName {
  readonly name: string;
  readonly covers: readonly RuleId[];
}

/** One call of a webhook and what must and must not come back. */
export interface CallRow extends RowName {
  /** Name in the URL as it is sent. */
  readonly webhook: string;
  readonly method?: string;
  /** What follows `/call` in the URL, as it is sent: sub-path and query. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON with its content type, text as it is. */
  readonly body?: string | Uint8Array | { readonly [member: string]: unknown } | readonly unknown[];
  readonly chunked?: boolean;
  /** Follow redirects and look at the last answer (default), or look at the first one. */
  readonly follow?: boolean;
  readonly expect: Expectation;
  /** Texts that may be nowhere in any answer of the chain: status line, headers or body. */
  readonly forbid?: readonly string[];
}

export interface Expectation {
  /** One status, or several where the contract leaves the choice. */
  readonly status: number | readonly number[];
  /** Statuses of all answers of the chain. */
  readonly chain?: readonly number[];
  /** Exact text, a pattern, or null for absent; names in lower case. */
  readonly headers?: Readonly<Record<string, string | RegExp | null>>;
  readonly body?: BodyExpectation;
  /** The input_value that the flow was given: looked up in the execution's record. */
  readonly input?: InputExpectation;
  /**
   * Members of the execution's record, or `none`: no execution was recorded. Without it, a
   * refusal (4xx, 503) asserts `none` too.
   */
  readonly execution?: "none" | Readonly<Record<string, Json | RegExp>>;
  /** A text that one line of the execution's log has. */
  readonly log?: RegExp;
}

export interface BodyExpectation {
  readonly text?: string;
  readonly json?: unknown;
  /** Members of problem+json that must be so. */
  readonly problem?: Readonly<Record<string, unknown>>;
  readonly contains?: readonly string[];
  readonly matches?: RegExp;
  readonly bytes?: Uint8Array;
}

/** Members that are given must be so; `absent` means that the member is not there at all. */
export interface InputExpectation {
  readonly method?: string;
  readonly path?: string | null;
  readonly query?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly auth?: "absent" | Readonly<Record<string, unknown>>;
  /** Headers that must be there so, or, with null, not at all. */
  readonly headers?: Readonly<Record<string, string | null>>;
}

/** In `InputExpectation.json`: the member is not there. */
export const ABSENT = Symbol("absent");

/** Several requests that belong together. It throws where the contract is broken. */
export interface StoryRow extends RowName {
  run(service: Service): Promise<void>;
}

export function isStory(row: Row): row is StoryRow {
  return "run" in row;
}

/** The request target of a call: `path` is what follows `/call`. */
export function callTarget(service: Service, webhook: string, path = ""): string {
  return `${service.prefix}/api/latest/webhook/${webhook}/call${path}`;
}

/** The id of the execution that an answer belongs to. */
export function executionId(answer: Pick<Answer, "headers" | "status" | "text">): string {
  const id = answer.headers["flowhook-execution-id"];
  if (id === undefined) {
    throw new Error(`No Flowhook-Execution-Id on the answer ${answer.status}: ${answer.text}`);
  }
  return id;
}

/** How many executions of a webhook are recorded (at most 500 are told apart). */
export async function countExecutions(service: Service, webhook: string): Promise<number> {
  const name = encodeURIComponent(decoded(webhook));
  const answer = await service.api("GET", `/execution?webhook=${name}&limit=500`);
  if (answer.status !== 200) throw new Error(`GET /execution: ${answer.status} ${answer.text}`);
  return (answer.body as { items: Json[] }).items.length;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

export type ExecutionRecord = { readonly [member: string]: Json };

export async function readExecution(service: Service, id: string): Promise<ExecutionRecord> {
  const answer = await service.api("GET", `/execution/${id}`);
  if (answer.status !== 200) {
    throw new Error(`GET /execution/${id}: ${answer.status} ${answer.text}`);
  }
  return answer.body as ExecutionRecord;
}

/** Waits until an execution has ended and gives its record. */
export function endedExecution(service: Service, id: string): Promise<ExecutionRecord> {
  return poll(`the execution ${id} to end`, async () => {
    const record = await readExecution(service, id);
    return String(record["status"]).startsWith("ENDED_") ? record : null;
  });
}

/** Asks until something is there: only where nothing can be awaited. */
export async function poll<T>(
  what: string,
  look: () => Promise<T | null>,
  deadlineMs = HUNG_MS,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > deadline)
      throw new Error(`Waited ${deadlineMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
