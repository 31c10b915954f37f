import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import { readAsset } from "../../assets/read.ts";
import { RequestError, toProblem } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { AddressReader } from "../access/client-address.ts";
import type { Api } from "../api/api.ts";
import { createApi, refuseMethod, respondError } from "../api/app.ts";
import { ROUTES } from "../api/routes.ts";
import { describeMissing } from "./missing-path.ts";
import { identifyRequest, requestIdOf } from "../request/trace.ts";
import type { Ui } from "../ui/session.ts";
import { createUi } from "../ui/ui.ts";
import type { Call } from "../webhooks/call.ts";
import type { CallDeps } from "../webhooks/call-deps.ts";
import { receive } from "../webhooks/receive.ts";
import { readTarget, type CallTarget } from "../webhooks/target.ts";
import { createMonitoring, type MonitoringDeps } from "./monitoring.ts";
import { PROBLEM_HEADERS } from "./request-target.ts";

/** The parts of the HTTP side, each with what it uses. */
export interface AppDeps {
  readonly calls: CallDeps;
  readonly api: Api;
  readonly ui: Ui;
  readonly monitoring: MonitoringDeps;
  readonly addressOf: AddressReader;
  readonly log: Log;
  /** Path prefix of the service, from BASE_URL; empty without one. */
  readonly prefix: string;
}

/** The whole HTTP side of the service, matched on the target as it was sent. */
export interface App {
  /**
   * Answers a call, which is known by its target before any route is looked up. It waits for as long
   * as its flow runs, so that nothing is made for it that only routes need.
   *
   * @returns null where it is none
   */
  readonly call: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> | null;
  /** Everything else. */
  readonly fetch: (request: Request, env: HttpBindings) => Response | Promise<Response>;
}

export function createApp(deps: AppDeps): App {
  const routes = createRoutes(deps);
  return {
    call(incoming, outgoing) {
      const target = readTarget(toRawTarget(incoming.url, deps.prefix));
      return target && receive(deps.calls, toCall(deps, incoming, outgoing, target));
    },
    fetch(request, env) {
      identifyRequest(env.incoming, env.outgoing);
      return routes.fetch(request, env);
    },
  };
}

type Routes = Hono<{ Bindings: HttpBindings }>;

function createRoutes(deps: AppDeps): Routes {
  const app: Routes = new Hono({ getPath: (_, c) => toRawPath(c?.env?.incoming.url, deps.prefix) });
  app.route("/api/latest", createApi(deps.api));
  app.route("/", createUi(deps.ui));
  app.route("/", createMonitoring(deps.monitoring));
  app.get("/default-styling.css", () => respondStyle());
  app.notFound((c) => {
    const allow = METHODS.filter((method) => app.router.match(method, c.req.path)[0].length > 0);
    // What is there and says that it is not is asked for by GET.
    if (allow.length > 0 && !["GET", "HEAD"].includes(c.req.method))
      throw refuseMethod(c.req.method, allow);
    const target = c.env.incoming.url ?? "/";
    throw new RequestError("not_found", describeMissing(target, deps.prefix, ROUTES));
  });
  app.onError((error, c) => respondError(deps, c, error));
  return app;
}

/** Of pages, health and metrics: the API refuses other methods itself. */
const METHODS = ["GET", "POST"];

/** Of the calls without one; nobody changes it. */
const NO_QUERY = new URLSearchParams();

const NO_SECRETS: readonly string[] = [];

function toCall(
  { addressOf }: AppDeps,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  target: CallTarget,
): Call {
  return {
    incoming,
    outgoing,
    method: incoming.method ?? "",
    target,
    query: target.query === "" ? NO_QUERY : new URLSearchParams(target.query),
    address: addressOf(incoming).address,
    request_id: requestIdOf(incoming),
    body: null,
    movedText: null,
    body_bytes: 0,
    bodyHash: null,
    bucket: null,
    secrets: NO_SECRETS,
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

/** The last resort: whatever was thrown, no request is left without an answer. */
const INTERNAL = new RequestError("internal", "The service failed. Its log has the reason");
const INTERNAL_PROBLEM = JSON.stringify(toProblem(INTERNAL, "/"));

export function respondInternal(): Response {
  return new Response(INTERNAL_PROBLEM, { status: INTERNAL.status, headers: PROBLEM_HEADERS });
}

/** As `respondInternal`, where there may be the beginning of another answer. */
export function sendInternal(outgoing: ServerResponse): void {
  if (outgoing.headersSent) outgoing.destroy();
  else outgoing.writeHead(INTERNAL.status, PROBLEM_HEADERS).end(INTERNAL_PROBLEM);
}
