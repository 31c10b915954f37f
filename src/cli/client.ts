import type { List } from "../shared/contract/list.ts";
import type { Problem } from "../shared/contract/problem.ts";
import { parseWhole } from "../shared/json-whole.ts";
import { isNamed, openConnection, type Connection, type ConnectionOptions } from "./connection.ts";
import { CommandError } from "./command-error.ts";
import {
  ANSWER_MS,
  NO_ANSWER,
  readBody,
  toUnsentError,
  UnansweredError,
  type Unanswered,
} from "./unsent-request.ts";

type Query = Readonly<Record<string, string | readonly string[] | number | undefined>>;

export interface RequestOptions {
  readonly query?: Query;
  /** A value that is sent as JSON. */
  readonly body?: unknown;
  /** A text that is sent as YAML. */
  readonly yaml?: string;
  /** Whether a redirect is an answer: of a wait, which goes on there, and takes its time. */
  readonly mayRedirect?: true;
  /** Whether the service may rightly work for more than 30 s before it answers. */
  readonly mayTakeLong?: boolean;
  /** Id of the event behind which a stream of events begins; without it no stream is an answer. */
  readonly eventsAfter?: string;
  /** Ends it, and what is read of its answer. */
  readonly signal?: AbortSignal;
}

export interface JsonOptions<T> extends RequestOptions {
  /** A member by which the answer is known to be Flowhook's: others answer with JSON too. */
  readonly has: keyof T & string;
}

/** The management API of a running service (contract, section 3). */
export interface Client extends Connection {
  /** @throws CommandError with the service's reason, or where it cannot be reached */
  request(method: string, path: string, options?: RequestOptions): Promise<Response>;
  /** The answer as the caller knows it from the contract. @throws CommandError for another's */
  json<T>(method: string, path: string, options: JsonOptions<T>): Promise<T>;
  /** All items, of as many pages as needed. */
  list<T>(path: string, query?: Query): Promise<T[]>;
  /** The first items of a list. */
  first<T>(path: string, query: Query, limit?: number): Promise<FirstItems<T>>;
}

export interface FirstItems<T> {
  readonly items: T[];
  /** Whether the limit left some out. */
  readonly hasMore: boolean;
}

/** The service refused. */
export class RefusedFailure extends CommandError {
  readonly status: number;
  /** The members of the input that it refused. */
  readonly fields: readonly string[];

  constructor(message: string, status: number, fields: readonly string[] = []) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

/** Members that are lists, wherever they stand. */
const LISTS: readonly string[] = ["items", "nodes"];

/** After this long, in milliseconds, people wonder whether anything happens. */
const WAITING_MS = 5000;

/** Media type of a stream of events. */
const EVENTS = "text/event-stream";

/** Most items of one page. */
const PAGE = 500;

/**
 * Says on standard error which service took what was written, where nobody named one: another may
 * have been meant.
 *
 * @throws CommandError (usage) where the URL is none
 */
export function openClient(options: ConnectionOptions): Client {
  const connection = openConnection(options);
  let isTold = isNamed(options);
  return createClient(connection, (method) => {
    if (isTold || method === "GET") return;
    process.stderr.write(`Service: ${connection.url}\n`);
    isTold = true;
  });
}

/** @param taken is called with the method of each request that the service has taken */
export function createClient(
  connection: Connection,
  taken: (method: string) => void = () => {},
): Client {
  let isKnown = false;
  const request: Client["request"] = async (method, path, more = {}) => {
    const answer = await send({ ...connection, isKnown }, method, path, more);
    isKnown = true;
    taken(method);
    return answer;
  };
  const json: Client["json"] = async <T>(
    method: string,
    path: string,
    { has, ...more }: JsonOptions<T>,
  ) => {
    const value = await readJson(await request(method, path, more), connection.url);
    const found = (value as Record<string, unknown> | null)?.[has];
    if (found === undefined || (LISTS.includes(has) && !Array.isArray(found)))
      throw notFlowhook(`JSON without "${has}"`, connection.url);
    return value as T;
  };
  return {
    ...connection,
    request,
    json,
    async list<T>(path: string, query: Query = {}): Promise<T[]> {
      return (await this.first<T>(path, query)).items;
    },
    async first<T>(path: string, query: Query, limit = Infinity): Promise<FirstItems<T>> {
      const items: T[] = [];
      let cursor: string | undefined;
      do {
        const size = Math.min(limit - items.length, PAGE);
        const page = await json<List<T>>("GET", path, {
          query: { ...query, limit: size, cursor },
          // A search reads all that is kept.
          mayTakeLong: query["text"] !== undefined,
          has: "items",
        });
        items.push(...page.items);
        const next = page.next_cursor ?? undefined;
        // It would be asked for one page for ever.
        if (next !== undefined && next === cursor)
          throw notFlowhook("a page that leads to itself", connection.url);
        cursor = next;
      } while (cursor !== undefined && items.length < limit);
      return { items, hasMore: cursor !== undefined };
    },
  };
}

/**
 * A path of the API: its segments, encoded.
 *
 * @throws CommandError for a name that no URL can have: what it led to would be something else
 */
export function toPath(...segments: readonly string[]): string {
  const wrong = segments.find((segment) => /^\.{0,2}$/.test(segment));
  if (wrong !== undefined) throw new CommandError(`Found "${wrong}", expected a name or an id`, 2);
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
}

/** @throws CommandError where it breaks off, or is none */
export async function readJson(answer: Response, url: string): Promise<unknown> {
  const text = await readBody(answer, () => answer.text());
  try {
    return parseWhole(text);
  } catch {
    throw notFlowhook("no JSON", url);
  }
}

function notFlowhook(found: string, url: string): CommandError {
  return new CommandError(
    `Found ${found} at ${url}, which is no answer of Flowhook. Is the URL right?`,
  );
}

async function send(
  { url, token, isKnown }: Connection & Pick<Unanswered, "isKnown">,
  method: string,
  path: string,
  { query = {}, body, yaml, mayRedirect, mayTakeLong, eventsAfter, signal }: RequestOptions,
): Promise<Response> {
  const headers = new Headers({ accept: "application/json" });
  if (token !== null) setToken(headers, token);
  if (eventsAfter !== undefined) {
    headers.set("accept", EVENTS);
    headers.set("last-event-id", eventsAfter);
  }
  if (body !== undefined) headers.set("content-type", "application/json");
  if (yaml !== undefined) headers.set("content-type", "application/yaml");
  const content = body === undefined ? yaml : JSON.stringify(body);
  const init = { method, headers, redirect: "manual" as const, ...(signal && { signal }) };
  const sent = { ...init, ...(content === undefined ? {} : { body: content }) };
  const limitMs = mayRedirect || mayTakeLong ? null : ANSWER_MS;
  const asked = reach(`${url}/api/latest${path}${toSearch(query)}`, sent, { limitMs, isKnown });
  // A wait takes the time of what it waits for.
  const answer = await (mayRedirect ? asked : tellWaiting(url, asked));
  if (mayRedirect && isRedirect(answer)) return answer;
  if (!answer.ok) throw await toFailure(answer, url, token);
  if (answer.status === 204 || isOfApi(answer, eventsAfter !== undefined)) return answer;
  await answer.body?.cancel();
  throw notFlowhook(answer.headers.get("content-type") ?? "nothing", url);
}

/** A page in the place of the service answers anything with 200. */
function isOfApi({ headers }: Response, isStream: boolean): boolean {
  const type = headers.get("content-type") ?? "";
  return isStream ? type.startsWith(EVENTS) : /^application\/(?:json|yaml)\b/.test(type);
}

/** @throws CommandError where it is none: what stands in it is never shown */
export function setToken(headers: Headers, token: string): void {
  try {
    headers.set("x-service-token", token);
  } catch {
    throw new CommandError("The login token has characters that none can have (FLOWHOOK_TOKEN)", 2);
  }
}

function isRedirect({ status }: Response): boolean {
  return status >= 300 && status < 400;
}

function toSearch(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const item of [value].flat()) search.append(name, String(item));
  }
  return search.size === 0 ? "" : `?${search.toString()}`;
}

/** Says on standard error that the service is waited for, where that takes a while. */
async function tellWaiting<T>(url: string, asked: Promise<T>): Promise<T> {
  const tell = () => process.stderr.write(`Waiting for the service at ${url}\n`);
  const timer = setTimeout(tell, WAITING_MS);
  try {
    return await asked;
  } finally {
    clearTimeout(timer);
  }
}

const START = 'Start the service with "flowhook serve", or name another with --url or FLOWHOOK_URL';

/**
 * @param limitMs for the head of the answer: a large body may take longer
 * @throws CommandError where there is no answer
 */
async function reach(
  url: string,
  init: RequestInit,
  { limitMs, isKnown }: { limitMs: number | null } & Pick<Unanswered, "isKnown">,
): Promise<Response> {
  const late = new AbortController();
  const timer = limitMs === null ? undefined : setTimeout(() => late.abort(), limitMs);
  const sentAt = performance.now();
  try {
    const signals = init.signal ? [late.signal, init.signal] : [late.signal];
    return await fetch(url, { ...init, signal: AbortSignal.any(signals) });
  } catch (error) {
    if (late.signal.aborted)
      throw new UnansweredError(`${NO_ANSWER} at ${new URL(url).origin}. Is the URL right?`);
    const isAct = init.method !== "GET";
    throw toUnsentError(error as Error, { url, sentAt, isKnown, isAct, advice: START });
  } finally {
    clearTimeout(timer);
  }
}

async function toFailure(
  answer: Response,
  url: string,
  token: string | null,
): Promise<CommandError> {
  const type = answer.headers.get("content-type") ?? "";
  if (!type.startsWith("application/problem+json")) {
    await answer.body?.cancel();
    const location = isRedirect(answer) ? answer.headers.get("location") : null;
    const where = location === null ? "" : ` to ${location}`;
    return notFlowhook(`${answer.status} ${answer.statusText}${where}`, url);
  }
  const problem = (await readJson(answer, url)) as Partial<Problem>;
  if (answer.status === 401 && !answer.url.endsWith("/auth/login"))
    return new RefusedFailure(
      `${token === null ? "Not logged in to" : "The login has ended at"} ${url}. ` +
        `Log in with: flowhook login ${url}`,
      401,
    );
  const isWrong = problem.type === "urn:flowhook:error:wrong_password";
  const message = isWrong ? WRONG_PASSWORD : describe(problem);
  const fields = (problem.errors ?? []).map(({ field }) => field);
  return new RefusedFailure(message, answer.status, fields);
}

/** The service's own words name a member of a body that no command shows. */
const WRONG_PASSWORD =
  "Found a wrong password, expected your own: that of the user who is logged in (flowhook dev shows " +
  "it at its start). Try again with it, or set a new one where the service runs: " +
  "flowhook user password NAME";

/** The detail, and each field that it does not already name. */
function describe({ detail = "The service refused", errors = [] }: Partial<Problem>): string {
  const lines = errors.map(({ field, message }) => `${field}: ${message}`);
  if (lines.length > 1 && lines.join("; ") === detail) return lines.join("\n");
  const untold = errors.filter(({ message }) => !detail.includes(message));
  return [detail, ...untold.map(({ field, message }) => `  ${field}: ${message}`)].join("\n");
}
