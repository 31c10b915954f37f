import type { List } from "../shared/contract/list.ts";
import type { Problem } from "../shared/contract/problem.ts";
import { openConnection, type Connection, type ConnectionOptions } from "./connection.ts";
import { CommandError } from "./command-error.ts";

type Query = Readonly<Record<string, string | readonly string[] | number | undefined>>;

export interface RequestOptions {
  readonly query?: Query;
  /** A value that is sent as JSON. */
  readonly body?: unknown;
  /** A text that is sent as YAML. */
  readonly yaml?: string;
}

/** The management API of a running service (contract, section 3). */
export interface Client extends Connection {
  /** @throws CommandError with the service's reason, or where it cannot be reached */
  request(method: string, path: string, options?: RequestOptions): Promise<Response>;
  /** The answer as the caller knows it from the contract. */
  json<T>(method: string, path: string, options?: RequestOptions): Promise<T>;
  /** Items of as many pages as needed. */
  list<T>(path: string, query?: Query, limit?: number): Promise<T[]>;
}

/** The service refused. */
export class RefusedFailure extends CommandError {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** There is no answer: no service runs there. */
export class UnreachableError extends CommandError {}

/** Most items of one page. */
const PAGE = 500;

/** @throws CommandError (usage) where the URL is none */
export function openClient(options: ConnectionOptions): Client {
  return createClient(openConnection(options));
}

export function createClient(connection: Connection): Client {
  const request: Client["request"] = (method, path, more = {}) =>
    send(connection, method, path, more);
  const json: Client["json"] = async <T>(...args: Parameters<Client["json"]>) =>
    (await (await request(...args)).json()) as T;
  return {
    ...connection,
    request,
    json,
    async list<T>(path: string, query: Query = {}, limit = Infinity): Promise<T[]> {
      const items: T[] = [];
      let cursor: string | undefined;
      do {
        const size = Math.min(limit - items.length, PAGE);
        const page = await json<List<T>>("GET", path, {
          query: { ...query, limit: size, cursor },
        });
        items.push(...page.items);
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined && items.length < limit);
      return items;
    },
  };
}

/** A path of the API: its segments, encoded. */
export function toPath(...segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
}

async function send(
  { url, token }: Connection,
  method: string,
  path: string,
  { query = {}, body, yaml }: RequestOptions,
): Promise<Response> {
  const headers = new Headers({ accept: "application/json" });
  if (token !== null) headers.set("x-service-token", token);
  if (body !== undefined) headers.set("content-type", "application/json");
  if (yaml !== undefined) headers.set("content-type", "application/yaml");
  const content = body === undefined ? yaml : JSON.stringify(body);
  const init = { method, headers, redirect: "manual" as const };
  const answer = await reach(`${url}/api/latest${path}${toSearch(query)}`, {
    ...init,
    ...(content === undefined ? {} : { body: content }),
  });
  if (answer.status < 400) return answer;
  throw await toFailure(answer, url, token);
}

function toSearch(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const item of [value].flat()) search.append(name, String(item));
  }
  return search.size === 0 ? "" : `?${search.toString()}`;
}

/** @throws UnreachableError */
async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    const reason = `Cannot reach ${new URL(url).origin}: ${reasonOf(error as Error)}`;
    if (isUntrusted(error as Error)) throw new CommandError(`${reason}. ${CERTIFICATE}`);
    throw new UnreachableError(
      `${reason}. Start the service with "flowhook serve", or name another with --url or ` +
        `FLOWHOOK_URL`,
    );
  }
}

export const CERTIFICATE =
  "If the service's certificate is of an authority of your own, name that with --cacert FILE or " +
  "SSL_CERT_FILE";

/** Whether it was the certificate that nobody vouches for. */
export function isUntrusted({ cause }: Error): boolean {
  const { code = "" } = (cause ?? {}) as NodeJS.ErrnoException;
  return /SELF_SIGNED|UNABLE_TO_|CERT_UNTRUSTED/.test(code);
}

/** Why no answer came: the system's words are in the cause. */
export function reasonOf({ message, cause }: Error): string {
  if (!(cause instanceof Error)) return message;
  return cause.message || (cause as NodeJS.ErrnoException).code || message;
}

async function toFailure(
  answer: Response,
  url: string,
  token: string | null,
): Promise<CommandError> {
  const type = answer.headers.get("content-type") ?? "";
  if (!type.startsWith("application/problem+json")) {
    await answer.body?.cancel();
    return new CommandError(
      `Found ${answer.status} ${answer.statusText} at ${url}, which is no answer of Flowhook. ` +
        `Is the URL right?`,
    );
  }
  const problem = (await answer.json()) as Partial<Problem>;
  if (answer.status === 401 && !answer.url.endsWith("/auth/login"))
    return new RefusedFailure(
      `${token === null ? "Not logged in to" : "The login has ended at"} ${url}. ` +
        `Log in with: flowhook login ${url}`,
      401,
    );
  return new RefusedFailure(describe(problem), answer.status);
}

/** The detail, and each field that it does not already name. */
function describe({ detail = "The service refused", errors = [] }: Partial<Problem>): string {
  const untold = errors.filter(({ message }) => !detail.includes(message));
  return [detail, ...untold.map(({ field, message }) => `  ${field}: ${message}`)].join("\n");
}
