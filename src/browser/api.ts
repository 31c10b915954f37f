import type { List as ListOfContract } from "../shared/contract/list.ts";
import type { FieldError, Problem } from "../shared/contract/problem.ts";
import { parseDigits } from "../shared/json-exact.ts";
import { exchange, type Exchange } from "./exchange.ts";
import { apiPath, USER_ID } from "./page.ts";
import { followServiceClock } from "./service-clock.ts";

/** A refusal of the management API: problem details (RFC 9457). */
export class ApiError extends Error {
  readonly status: number;
  /** `wrong_password`, `conflict`, ...; empty where the answer names none. */
  readonly code: string;
  readonly fields: readonly FieldError[];

  constructor(status: number, code: string, detail: string, fields: readonly FieldError[]) {
    super(detail);
    this.status = status;
    this.code = code;
    this.fields = fields;
  }
}

export interface ApiAnswer<Body> {
  readonly body: Body;
  readonly etag: string | null;
}

export type List<Item> = ListOfContract<Item>;

interface ApiOptions {
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  /** Sent as it is, in place of `body`. */
  readonly text?: string;
  readonly etag?: string | null;
  readonly signal?: AbortSignal;
  /** How long the service may be silent, in milliseconds; any time unless told. */
  readonly limitMs?: number;
}

/** Of the window, each time the service answers that it knows the visitor no more. */
export const SESSION_END = "sessionend";

/** And when it knows the visitor again. */
export const SESSION_BACK = "sessionback";

/** Of the window, each time it was asked who is logged in: a CustomEvent with a `Visitor`. */
export const SESSION_OF = "sessionof";

export interface Visitor {
  readonly id: string;
  readonly name: string;
}

/** The code of an error without an answer. */
const UNREACHABLE = "unreachable";

/** Whether nothing was answered at all, which ends by itself. */
export function isUnreached(error: unknown): boolean {
  return error instanceof ApiError && error.code === UNREACHABLE;
}

/** Whether the service knows the visitor no more, which a line at the top of the page says. */
export function isOfSession(error: unknown): boolean {
  return error instanceof ApiError && error.code === "not_authenticated";
}

/** Of the window, each time a request does not reach the service. */
export const SERVICE_GONE = "servicegone";

/** And once it is there again: that one request among many is answered does not say so. */
export const SERVICE_BACK = "serviceback";

let hasEnded = false;

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** @throws ApiError */
export async function call<Body>(
  method: Method,
  path: readonly string[],
  options: ApiOptions = {},
): Promise<ApiAnswer<Body>> {
  if (method !== "GET") await requireVisitor();
  return take<Body>(await sendInTurn(method, path, options));
}

/** @throws ApiError */
function take<Body>({ status, headers, text }: Exchange): ApiAnswer<Body> {
  followServiceClock(headers.get("date"));
  tellSession(status);
  if (!isOk(status)) throw toError(status, text);
  const isJson = /json/.test(headers.get("content-type") ?? "");
  const body = (isJson && text !== "" ? parseDigits(text) : text) as Body;
  return { body, etag: headers.get("etag") };
}

/** @throws ApiError */
export async function read<Body>(
  path: readonly string[],
  query: ApiOptions["query"] = {},
  signal?: AbortSignal,
): Promise<Body> {
  const options = signal === undefined ? { query } : { query, signal };
  return (await call<Body>("GET", path, options)).body;
}

/**
 * Whether the service answers, also where it refuses. Asked past the turns of the reads, which may
 * hang themselves.
 *
 * @param limit how long is waited for the answer, in milliseconds
 */
export async function isThere(limit: number): Promise<boolean> {
  try {
    take(await send("GET", ["auth", "me"], { limitMs: limit }));
    return true;
  } catch (error) {
    return error instanceof ApiError && !isUnreached(error);
  }
}

/**
 * Tabs share one login: nothing is done as somebody else than the page says.
 *
 * @throws ApiError also where nobody is logged in
 */
export async function requireVisitor(): Promise<void> {
  const { body: visitor } = take<Visitor>(await sendAgain(["auth", "me"], {}));
  dispatchEvent(new CustomEvent(SESSION_OF, { detail: visitor }));
  if (visitor.id === USER_ID) return;
  const text = `You are signed in as ${visitor.name} now, so nothing was done. Load this page again.`;
  throw new ApiError(0, "other_user", text, []);
}

/** Lists that come whole, and so take no limit. */
const WHOLE: readonly string[] = ["flow", "token"];

/** The items of a short list, for choices: at most 500, which is what one request answers. */
export async function readAll<Item>(type: string): Promise<readonly Item[]> {
  const query = WHOLE.includes(type) ? {} : { limit: "500" };
  return (await read<List<Item>>([type], query)).items;
}

/** Reads of this page at the same time: the service answers four lists of one user. */
const READS = 3;

/** How often, and after how long, a list is asked for again where other tabs ask for many. */
const TURNS = 5;
const TURN_MS = 1000;

/** How long the service may be silent where something is read, in milliseconds: it may stand still. */
const SILENCE_MS = 20_000;

let reading = 0;
const waiting: (() => void)[] = [];

async function sendInTurn(method: Method, path: readonly string[], options: ApiOptions) {
  if (method !== "GET") return send(method, path, options);
  if (reading === READS) await new Promise<void>((resolve) => waiting.push(resolve));
  else reading += 1;
  try {
    return await sendAgain(path, options);
  } finally {
    const next = waiting.shift();
    if (next === undefined) reading -= 1;
    else next();
  }
}

async function sendAgain(path: readonly string[], options: ApiOptions): Promise<Exchange> {
  for (let turn = 1; ; turn += 1) {
    const answer = await send("GET", path, { ...options, limitMs: SILENCE_MS });
    if (answer.status !== 429 || turn === TURNS) return answer;
    await new Promise((resolve) => setTimeout(resolve, TURN_MS));
  }
}

async function send(method: Method, path: readonly string[], options: ApiOptions) {
  const { query = {}, body, text, etag, signal, limitMs } = options;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") search.append(name, value);
  const target = apiPath(...path) + (search.size === 0 ? "" : `?${search}`);
  const type = text === undefined ? "application/json" : "application/yaml";
  const content = text ?? (body === undefined ? null : JSON.stringify(body));
  const headers = {
    ...(content === null ? {} : { "content-type": type }),
    ...(etag ? { "if-match": etag } : {}),
  };
  const request = { method, body: content, headers, signal: signal ?? null };
  let isSilent = false;
  try {
    const answer = await exchange(target, request, limitMs);
    if (!isOfGateway(answer)) return answer;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    isSilent = error instanceof DOMException && error.name === "TimeoutError";
  }
  dispatchEvent(new Event(SERVICE_GONE));
  throw new ApiError(0, UNREACHABLE, isSilent ? SILENT : GONE, []);
}

const GONE = "The service cannot be reached. Is it running?";

const SILENT = "The service does not answer. What is missing here is read again once it does.";

/** Whether a proxy answered in place of the service, whose own refusals are problem details. */
function isOfGateway({ status, headers }: Exchange): boolean {
  const type = headers.get("content-type") ?? "";
  return [502, 503, 504].includes(status) && !type.startsWith("application/problem+json");
}

function isOk(status: number): boolean {
  return status >= 200 && status < 300;
}

function tellSession(status: number): void {
  const isBack = hasEnded && isOk(status);
  hasEnded = status === 401 || (hasEnded && !isOk(status));
  if (status === 401) dispatchEvent(new Event(SESSION_END));
  if (isBack) dispatchEvent(new Event(SESSION_BACK));
}

function toError(status: number, text: string): ApiError {
  const problem = toProblem(text);
  const code = (problem.type ?? "").slice("urn:flowhook:error:".length);
  const detail = problem.detail ?? `The service answered ${status}`;
  return new ApiError(status, code, detail, problem.errors ?? []);
}

function toProblem(text: string): Partial<Problem> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

/** What is said of 401 where something was sent, in place of the words for programs. */
const ENDED = "Your session has ended, so nothing was done. Sign in again, and send it once more.";

/** One sentence for people about whatever was thrown. */
export function sentenceOf(error: unknown): string {
  if (isOfSession(error)) return ENDED;
  const text = error instanceof Error ? error.message : String(error);
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
