import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { Api } from "../api/api.ts";
import { createApi, respondFault } from "../api/app.ts";
import { readAsset } from "../../assets/read.ts";
import { Refusal, toProblem } from "../../shared/errors.ts";
import { isHost } from "../request/host.ts";
import type { Meters, Readings } from "../../shared/meters.ts";
import { identifyRequest, requestIdOf } from "../request/trace.ts";
import type { Ui } from "../ui/session.ts";
import { createUi } from "../ui/ui.ts";
import type { Call } from "../webhooks/call.ts";
import { receive, type Corridor } from "../webhooks/receive.ts";
import { readTarget, type CallTarget } from "../webhooks/target.ts";

export interface House extends Corridor, Api, Ui {
  readonly meters: Meters;
  /** Whether the service takes calls: false before it is ready and while it shuts down. */
  readonly isReady: () => boolean;
}

type App = Hono<{ Bindings: HttpBindings }>;

/**
 * The whole HTTP side of the service, matched on the target as it was sent. Calls are what it is
 * for: they are known by their target before any route is looked up.
 */
export function createServer(house: House): (request: Request, env: HttpBindings) => Answer {
  const app = createRoutes(house);
  return (request, env) => {
    const target = readTarget(toRawTarget(env.incoming.url, house.prefix));
    if (target !== null) return receive(house, toCall(house, env, target));
    identifyRequest(env.incoming, env.outgoing);
    return app.fetch(request, env);
  };
}

type Answer = Response | Promise<Response>;

function createRoutes(house: House): App {
  const app: App = new Hono({ getPath: (_, c) => toRawPath(c?.env?.incoming.url, house.prefix) });
  app.route("/api/latest", createApi(house));
  app.route("/", createUi(house));
  app.get("/default-styling.css", () => respondStyle());
  app.get("/health/live", (c) => c.json({ status: "ok" }));
  app.get("/health/ready", (c) => {
    const is_ready = house.isReady();
    return c.json({ status: is_ready ? "ok" : "not ready" }, is_ready ? 200 : 503);
  });
  house.meters.watch(() => readMeters(house));
  app.get("/metrics", async () => {
    const { print, type } = house.meters;
    return new Response(await print(), { headers: { "content-type": type } });
  });
  app.notFound((c) => {
    throw new Refusal("not_found", `There is nothing at "${c.req.path}"`);
  });
  app.onError((fault, c) => respondFault(house, c, fault));
  return app;
}

/** Of the calls without one; nobody changes it. */
const NO_QUERY = new URLSearchParams();

function toCall({ addressOf }: House, env: HttpBindings, target: CallTarget): Call {
  const { incoming, outgoing } = env;
  return {
    incoming,
    outgoing,
    method: incoming.method ?? "",
    target,
    query: target.query === "" ? NO_QUERY : new URLSearchParams(target.query),
    address: addressOf(incoming).address,
    request_id: requestIdOf(incoming),
  };
}

/** The target without the service's prefix; a target outside of it matches nothing. */
function toRawTarget(url: string | undefined, prefix: string): string {
  const raw = url ?? "/";
  if (prefix === "") return raw;
  return raw.startsWith(`${prefix}/`) ? raw.slice(prefix.length) : "";
}

function toRawPath(url: string | undefined, prefix: string): string {
  return toRawTarget(url, prefix).split(/[?#]/, 1)[0] || "//";
}

async function readMeters(house: House): Promise<Readings> {
  const { store, executions, connection_allowance } = house;
  const { runners, restarts } = house.runnersStatus();
  return {
    ...executions.counts(),
    ...store.counts(),
    threads: runners.reduce((sum, runner) => sum + runner.threads, 0),
    runners: runners.length,
    runner_restarts: restarts,
    runner_memory_bytes: runners.reduce((sum, runner) => sum + runner.rss_bytes, 0),
    connections_used: executions.connectionsUsed(),
    connection_allowance,
  };
}

const STYLE_HEADERS = {
  "content-type": "text/css; charset=utf-8",
  "cache-control": "public, max-age=300",
  "x-content-type-options": "nosniff",
};

let style: Uint8Array<ArrayBuffer> | undefined;

/** The default stylesheet for pages from flows (section 4.7). */
function respondStyle(): Response {
  style ??= new Uint8Array(readAsset("default-styling.css"));
  return new Response(style, { headers: STYLE_HEADERS });
}

/**
 * Refuses what an HTTP server in front of others must not guess about: two Host headers or one that
 * names no host, an absolute-form target, a backslash or NUL in a path (contract, section 4,
 * numbers 6 and 15).
 *
 * @returns whether it was refused, and answered
 */
export function refuseTarget(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
  const fault = findTargetFault(incoming);
  if (fault === null) return false;
  identifyRequest(incoming, outgoing);
  const refusal = new Refusal("bad_target", fault);
  const problem = JSON.stringify(toProblem(refusal, "/"));
  outgoing.writeHead(refusal.status, { ...PROBLEM_HEADERS, connection: "close" });
  outgoing.end(incoming.method === "HEAD" ? undefined : problem);
  return true;
}

const PROBLEM_HEADERS = {
  "content-type": "application/problem+json",
  "cache-control": "no-store",
};

/** The last resort: whatever was thrown, no request is left without an answer. */
export function respondInternal(): Response {
  const refusal = new Refusal("internal", "The service failed. Its log has the reason");
  const { status } = refusal;
  return new Response(JSON.stringify(toProblem(refusal, "/")), {
    status,
    headers: PROBLEM_HEADERS,
  });
}

/** Names and values together are bounded in bytes; many short ones would cost more than they weigh. */
const MOST_HEADERS = 256;

function findTargetFault({ url = "", rawHeaders }: IncomingMessage): string | null {
  const count = rawHeaders.length / 2;
  if (count > MOST_HEADERS) return `Found ${count} headers, expected at most ${MOST_HEADERS}`;
  if (!url.startsWith("/")) return "Expected a target that starts with a slash";
  const path = url.split("?", 1)[0] ?? "";
  if (/[\\\0#]/.test(path)) return "The path has a character that must be percent-encoded";
  return findHostFault(rawHeaders);
}

function findHostFault(raw: readonly string[]): string | null {
  let count = 0;
  let host = "";
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]?.toLowerCase() !== "host") continue;
    count += 1;
    host = raw[at + 1] ?? "";
  }
  if (count !== 1) return `Found ${count} Host headers, expected one`;
  return isHost(host) ? null : "The Host header names no host, expected one and perhaps its port";
}
