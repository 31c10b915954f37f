import { request as requestHttp, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { makeProbe, PROBE_HEADER, type SeenConnection } from "../../server/access/probe.ts";
import { prefixOf, type Config } from "../../server/config/resolve.ts";
import { NODE_ADVICE } from "../unsent-request.ts";
import { reportOn, type Finding } from "./finding.ts";

/** Whether the service that runs is reached, at its own address and at BASE_URL. */

const service = reportOn("service");
const proxy = reportOn("proxy");

export interface ConnectionDeps {
  readonly isRunning: boolean;
  /** Derived from the data folder's key for probes; null without a key. */
  readonly key: Buffer | null;
}

export async function examineService(config: Config, deps: ConnectionDeps): Promise<Finding[]> {
  if (!deps.isRunning)
    return [service.skipped(`No service runs on "${config.DATA_DIR}"; what it sees was not asked`)];
  const url = ownUrl(config);
  if (url === null) return [service.ok("It runs, on a port that it picked")];
  const answer = await ask(`${url}/health/ready`, {}, false);
  if (typeof answer === "string")
    return [
      service.error(
        `The service runs, and does not answer at ${url}: ${answer}`,
        "Look at its log. Was LISTEN_HOST, LISTEN_PORT or BASE_URL changed since it started?",
      ),
    ];
  if (answer.status === 200) return [service.ok(`It runs, and takes calls at ${url}`)];
  const message = `The service at ${url} answers ${answer.status} to /health/ready`;
  return [service.error(message, NOT_READY)];
}

const NOT_READY =
  "It starts or stops, its disk is full, its database is away, or its node has lost its lease: look at its log";

/** BASE_URL against how requests come in. */
export async function examineProxy(config: Config, deps: ConnectionDeps): Promise<Finding[]> {
  const { BASE_URL: base, TLS_CERT_FILE: cert, TRUSTED_PROXIES: proxies } = config;
  if (base === null) return [proxy.skipped("BASE_URL is not set: URLs follow each request")];
  const isBehind = base.startsWith("https:") && cert === null;
  if (isBehind && proxies.length === 0)
    return [
      proxy.error(
        `BASE_URL is ${base}, the service speaks HTTP, and TRUSTED_PROXIES is empty: all clients ` +
          `count as one, and cookies are sent without HTTPS`,
        "Put the address of the proxy into TRUSTED_PROXIES, or set TLS_CERT_FILE and TLS_KEY_FILE",
      ),
    ];
  if (!deps.isRunning || deps.key === null)
    return [proxy.skipped(`Nothing was sent to ${base}: no service runs`)];
  return [await examineRoute(base, proxies, deps.key)];
}

/** What became of a request to BASE_URL on its way. */
async function examineRoute(
  base: string,
  proxies: readonly string[],
  key: Buffer,
): Promise<Finding> {
  const url = `${base}/health/connection`;
  const answer = await ask(url, { [PROBE_HEADER]: makeProbe(key) }, true);
  if (typeof answer === "string")
    return proxy.error(`Nothing answers at BASE_URL ${base}: ${answer}`, REACH);
  const seen = answer.status === 200 ? toSeen(answer.text) : null;
  if (seen === null)
    return proxy.error(`${url} was answered with ${answer.status}, and not by this service`, ROUTE);
  return judge(base, proxies, seen);
}

const REACH =
  "Look at the name, at the proxy, and at its certificate (--cacert FILE names an authority of your " +
  "own). Where only callers elsewhere can reach " +
  "that address, this is no fault";
const ROUTE =
  "Let the proxy pass the request's target on as it was sent, with the path of BASE_URL before it, " +
  "and all headers";

function judge(base: string, proxies: readonly string[], seen: SeenConnection): Finding {
  const scheme = new URL(base).protocol.slice(0, -1);
  if (seen.forwarded && !seen.trusted)
    return proxy.error(
      `A request to ${base} comes from the proxy ${seen.address}, which is not in TRUSTED_PROXIES`,
      `Set TRUSTED_PROXIES: [${[...proxies, seen.address].join(", ")}], and start again`,
    );
  if (seen.scheme !== scheme)
    return proxy.error(
      `A request to ${base} counts as ${seen.scheme}`,
      "Let the proxy send X-Forwarded-Proto, and put its address into TRUSTED_PROXIES",
    );
  if (proxies.length > 0 && !seen.forwarded)
    return proxy.error(
      `A request to ${base} comes without X-Forwarded-For, and TRUSTED_PROXIES is not empty`,
      "Let the proxy send X-Forwarded-For; without a proxy, empty TRUSTED_PROXIES",
    );
  return proxy.ok(`A request to ${base} comes in as ${seen.scheme}, from ${seen.address}`);
}

function toSeen(text: string): SeenConnection | null {
  try {
    const seen = JSON.parse(text) as Partial<SeenConnection> | null;
    return typeof seen?.address === "string" ? (seen as SeenConnection) : null;
  } catch {
    return null;
  }
}

/** Where the service listens; null for a port that it picked. */
export function ownUrl(config: Config): string | null {
  const { LISTEN_HOST: host, LISTEN_PORT: port, TLS_CERT_FILE: cert } = config;
  if (port === 0) return null;
  const local = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const name = local.includes(":") ? `[${local}]` : local;
  return `${cert === null ? "http" : "https"}://${name}:${port}${prefixOf(config)}`;
}

const ASK_MS = 5000;

/** Most of an answer that is read, in characters. */
const MOST = 100_000;

/**
 * A GET that follows nothing.
 *
 * @param isChecked whether the certificate is; the service's own address is in none
 * @returns status and text, or why there is no answer
 */
export async function ask(
  url: string,
  headers: Record<string, string>,
  isChecked: boolean,
): Promise<{ status: number; text: string } | string> {
  const signal = AbortSignal.timeout(ASK_MS);
  const options: RequestOptions = { headers, signal, agent: false };
  try {
    const outgoing = url.startsWith("https:")
      ? requestHttps(url, { ...options, rejectUnauthorized: isChecked })
      : requestHttp(url, options);
    outgoing.end();
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    let text = "";
    for await (const part of incoming.setEncoding("utf8"))
      if (text.length < MOST) text += String(part);
    return { status: incoming.statusCode ?? 0, text };
  } catch (error) {
    if (signal.aborted) return `no answer within ${ASK_MS / 1000} s`;
    const { message, code } = error as NodeJS.ErrnoException;
    return message.replace(NODE_ADVICE, "") || code || "no reason";
  }
}
