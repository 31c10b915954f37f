import { readFileSync } from "node:fs";
import { WAIT } from "../server/webhooks/target.ts";
import { setToken, toPath } from "./client.ts";
import { isNamed, openConnection } from "./connection.ts";
import { CommandError } from "./command-error.ts";
import { readSignedHeaders, type SigningOptions } from "./signed-headers.ts";
import { readStandardInput } from "./standard-input.ts";
import {
  ANSWER_MS,
  NO_ANSWER,
  readBody,
  toUnsentError,
  type Unanswered,
} from "./unsent-request.ts";

export interface CallOptions extends SigningOptions {
  readonly method?: string;
  readonly data?: string;
  readonly header?: readonly string[];
  readonly query?: readonly string[];
  readonly key?: string;
  readonly async?: true;
  readonly url?: string;
  readonly cacert?: string;
}

/** As the service's own REST connector (section 8). */
const MOST_REDIRECTS = 10;

/**
 * Calls a webhook and prints the body of the answer.
 *
 * @throws CommandError for an answer that is no success, too many redirects, or no answer
 */
export async function call(name: string, options: CallOptions): Promise<void> {
  requireOneInput(options);
  const connection = openConnection(options);
  const { url: base, token } = connection;
  const headers = toHeaders(options, token);
  const body = options.data === undefined ? undefined : await readData(options.data);
  if (body !== undefined && !headers.has("content-type"))
    headers.set("content-type", "application/json");
  const method = (options.method ?? (body === undefined ? "GET" : "POST")).toUpperCase();
  const url = toUrl(base, name, options);
  if (options.sign) {
    const [webhook = ""] = name.split("/");
    const unsigned = { method, url, body };
    const signed = await readSignedHeaders(connection, webhook, unsigned, options);
    for (const [header, value] of Object.entries(signed)) headers.set(header, value);
  }
  const init = { method, headers, ...(body === undefined ? {} : { body }) };
  const answer = await follow(url, init, () => {
    if (!isNamed(options)) process.stderr.write(`Service: ${base}\n`);
  });
  const bytes = await readBody(answer, () => answer.arrayBuffer()).catch(sayLate);
  process.stdout.write(new Uint8Array(bytes));
  if (process.stdout.isTTY) process.stdout.write("\n");
  if (!answer.ok)
    throw new CommandError(`The call was answered with ${answer.status} ${answer.statusText}`);
}

/** @throws CommandError (usage) */
function requireOneInput({ data, sign, secretStdin }: CallOptions): void {
  if (!secretStdin) return;
  if (!sign) throw new CommandError("Found --secret-stdin alone, expected --sign with it", 2);
  if (data !== "@-") return;
  throw new CommandError("Standard input cannot be both the body and the secret", 2);
}

function toUrl(base: string, name: string, { query = [], async: is_async }: CallOptions): string {
  const [webhook = "", ...subPath] = name.split("/");
  const pairs = query.map((pair): [string, string] => {
    const at = pair.indexOf("=");
    return at === -1 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
  });
  if (is_async) pairs.push(["async", "1"]);
  const search = pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
  const calls = `${base}/api/latest${toPath("webhook", webhook)}/call`;
  const url = `${calls}${subPath.map((part) => `/${part}`).join("")}${search}`;
  if (isBelow(new URL(url), new URL(calls))) return url;
  throw new CommandError(
    `Found "${name}", expected a path below the webhook: ".." leads elsewhere`,
    2,
  );
}

function isBelow({ pathname }: URL, calls: URL): boolean {
  return pathname === calls.pathname || pathname.startsWith(`${calls.pathname}/`);
}

function toHeaders({ header = [], key }: CallOptions, token: string | null): Headers {
  const headers = new Headers();
  for (const line of header) {
    const at = line.indexOf(":");
    if (at < 1) throw new CommandError(`Found header "${line}", expected "Name: value"`, 2);
    const name = line.slice(0, at).trim();
    put(`The header "${name}"`, () => headers.append(name, line.slice(at + 1).trim()));
  }
  if (key !== undefined) put("The key", () => headers.set("authorization", `Bearer ${key}`));
  if (token !== null) setToken(headers, token);
  return headers;
}

/** Values are secrets: what is wrong is said without them. */
function put(what: string, act: () => void): void {
  try {
    act();
  } catch {
    throw new CommandError(
      `${what} cannot be sent: expected a name of letters, digits and "-", and a value in Latin-1 ` +
        "without line breaks",
      2,
    );
  }
}

async function readData(data: string): Promise<string | Uint8Array<ArrayBuffer>> {
  if (!data.startsWith("@")) return data;
  try {
    return data === "@-" ? await readStandardInput() : readFileSync(data.slice(1));
  } catch (error) {
    throw new CommandError(`Cannot read the data: ${(error as Error).message}`);
  }
}

/** @param taken is called once the service has answered */
async function follow(url: string, init: RequestInit, taken: () => void): Promise<Response> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  let next = url;
  let request = init;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const sent = { ...request, signal, redirect: "manual" as const };
    const answer = await send(next, sent, { isKnown: redirects > 0 });
    if (redirects === 0) taken();
    const location = answer.headers.get("location");
    if (answer.status < 300 || answer.status >= 400 || location === null) return answer;
    await answer.body?.cancel();
    const target = URL.parse(location, next);
    if (target === null || !/^https?:$/.test(target.protocol))
      throw new CommandError(`Cannot follow the redirect to "${location}"`);
    if (becomesGet(answer.status, request.method)) request = toGet(request);
    if (target.origin !== new URL(next).origin) request = forAnotherOrigin(request);
    next = target.href;
  }
  throw new CommandError(`Stopped after ${MOST_REDIRECTS} redirects${describeEnd(url, next)}`);
}

/** As `fetch` and `curl -L` do: a repeated POST would start one more execution. */
function becomesGet(status: number, method = "GET"): boolean {
  if (status === 303) return method !== "GET" && method !== "HEAD";
  return (status === 301 || status === 302) && method === "POST";
}

function toGet({ headers }: RequestInit): RequestInit {
  const kept = new Headers(headers);
  kept.delete("content-type");
  return { method: "GET", headers: kept };
}

/**
 * Any header may hold a secret, as that of a signature does, and a flow may redirect anywhere. The
 * body goes on: the flow that says where had it as well.
 */
function forAnotherOrigin({ headers, ...request }: RequestInit): RequestInit {
  const given = new Headers(headers);
  const names = "body" in request ? ["accept", "content-type"] : ["accept"];
  const kept = names.flatMap((name): [string, string][] => {
    const value = given.get(name);
    return value === null ? [] : [[name, value]];
  });
  return { ...request, headers: kept };
}

/** Only the service's own redirects lead to an execution that runs. */
function describeEnd(first: string, last: string): string {
  const { origin, searchParams } = new URL(last);
  if (origin !== new URL(first).origin || !searchParams.has(WAIT))
    return `: the last leads to "${last}"`;
  return ": the execution goes on. Use --async for long ones";
}

async function send(
  url: string,
  init: RequestInit,
  { isKnown }: Pick<Unanswered, "isKnown">,
): Promise<Response> {
  const sentAt = performance.now();
  try {
    return await fetch(url, init);
  } catch (error) {
    if ((error as Error).name === "TimeoutError") return sayLate(error);
    const advice = "Is the service running?";
    throw toUnsentError(error as Error, { url, sentAt, isKnown, isAct: true, advice });
  }
}

function sayLate(error: unknown): never {
  if ((error as Error).name !== "TimeoutError") throw error;
  throw new CommandError(`${NO_ANSWER}. Use --async for long ones`);
}
