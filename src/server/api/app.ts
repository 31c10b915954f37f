import type { ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import { strictObject, type GenericSchema } from "valibot";
import { findToken } from "../access/credentials.ts";
import type { Principal } from "../access/login.ts";
import { networkOf } from "../access/network.ts";
import { discardBody } from "../request/body.ts";
import { NO_HOST } from "../request/host.ts";
import { RequestError, toProblem } from "../../shared/errors.ts";
import { readTrace } from "../request/trace.ts";
import { isPassing, toRequestError } from "../store/store-error.ts";
import { readFor, type Reading } from "../store/reading.ts";
import { requirePermission, requireStill } from "./access.ts";
import type { Api } from "./api.ts";
import { check } from "./field-errors.ts";
import { invalid } from "./named.ts";
import { AT_ONCE, joinMembers, readBody, toText } from "./json-body.ts";
import type { Answer, ApiRequest, Route } from "./route.ts";
import { openAuditRateLimit, type AuditRateLimit } from "./audit-rate-limit.ts";
import { openEntry } from "./audit-entry.ts";
import { ROUTES } from "./routes.ts";

type Env = { Bindings: HttpBindings };
type ApiContext = Context<Env>;

/** Largest body of a management request, and of one that needs no login. */
const LIMIT = { bytes: 2 * 1024 * 1024, what: "" };
const LOGIN_LIMIT = { bytes: AT_ONCE, what: "" };

/** Audit entries of refused requests without a login, in one minute. */
const ANONYMOUS_PER_MINUTE = 300;

/** The management API (contract, section 3) as a Hono app for `/api/latest`. */
export function createApi(api: Api): Hono<Env> {
  const app = new Hono<Env>();
  const auditRateLimit = openAuditRateLimit(api.log, ANONYMOUS_PER_MINUTE);
  for (const route of ROUTES) {
    app.on(route.method, route.path, async (c) => {
      const answer = await serve(api, auditRateLimit, route, c);
      return toResponse(c.req.method === "HEAD" ? await withoutStream(answer) : answer);
    });
  }
  refuseOtherMethods(app);
  app.onError((error, c) => respondError(api, c, error));
  return app;
}

function refuseOtherMethods(app: Hono<Env>): void {
  for (const path of new Set(ROUTES.map((route) => route.path))) {
    const allow = ROUTES.filter((route) => route.path === path).map((route) => route.method);
    app.all(path, (c) => {
      throw refuseMethod(c.req.method, allow);
    });
  }
}

export function refuseMethod(method: string, taken: readonly string[]): RequestError {
  const allow = taken.flatMap((one) => (one === "GET" ? [one, "HEAD"] : [one]));
  const detail = `Expected ${allow.join(" or ")}, found ${method}`;
  return new RequestError("method_not_allowed", detail, { headers: { allow: allow.join(", ") } });
}

async function serve(
  api: Api,
  auditRateLimit: AuditRateLimit,
  route: Route,
  c: ApiContext,
): Promise<Answer> {
  const { address, isSecure } = api.addressOf(c.env.incoming);
  const entry = openEntry({ store: api.store, auditRateLimit }, route, {
    address,
    params: c.req.param(),
  });
  const answer = await act().catch(async (error: unknown) => {
    const refused = toRequestError(error);
    await entry.close(refused instanceof RequestError ? refused.code : "internal");
    throw error;
  });
  const write = () => entry.close(String(answer.status), answer);
  // What is done is done: its caller is told so, whatever becomes of the entry.
  const report = (error: unknown): void =>
    api.log.error({ action: route.action, err: error }, "Cannot write an entry of the audit");
  await write().catch((error: unknown) => {
    report(error);
    if (isPassing(error)) writeLater(write).catch(report);
  });
  return answer;

  async function act(): Promise<Answer> {
    const sender = await identify(api, route, c, address);
    entry.actor(sender);
    if (sender !== null) requirePermission(sender, route.needs);
    const schema = bodyOf(route);
    if (route.method === "GET") discardBody(c.env.incoming);
    const body =
      schema === null ? undefined : await readJson(api, { ...route, schema }, c.env, address);
    entry.given(body);
    const principal = schema === null ? sender : await whoStillMay(api, route, sender);
    const request = toRequest(api, route, c, { principal, address, isSecure, body });
    return await readFor(readingOf(route, principal, c.env.outgoing), () =>
      route.act(api, request as ApiRequest<never, never>),
    );
  }
}

const AGAIN_MS = 5000;

/** Once the store can, while the service lives; what was committed untold is there twice. */
async function writeLater(write: () => Promise<void>): Promise<void> {
  for (;;) {
    await setTimeout(AGAIN_MS, undefined, { ref: false });
    try {
      return await write();
    } catch (error) {
      if (!isPassing(error)) throw error;
    }
  }
}

/**
 * Lists are read for somebody, as long as they wait for them. What changes something may start what
 * outlives its request, and has no such end.
 */
function readingOf(
  { method }: Route,
  principal: Principal | null,
  outgoing: ServerResponse,
): Reading | null {
  if (principal === null || method !== "GET") return null;
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  return { user_id: principal.user_id, signal: gone.signal };
}

function toRequest(
  api: Api,
  route: Route,
  c: ApiContext,
  from: { principal: Principal | null; address: string; isSecure: boolean; body: unknown },
): ApiRequest<unknown, unknown> {
  const { address, isSecure } = from;
  const [query, body] = [queryOf(route), bodyOf(route)];
  const named = c.req.header("host") ?? NO_HOST;
  const host = `${isSecure ? "https" : "http"}://${named}${api.prefix}`;
  return {
    // A route for anyone does not look at it.
    principal: from.principal as Principal,
    visitor: from.principal,
    params: c.req.param() as Record<string, string>,
    query: query === null ? undefined : check(query, readQuery(c), "The query"),
    body: body === null ? undefined : check(body, from.body),
    address,
    isSecure,
    base_url: api.base_url ?? host,
    ifMatch: c.req.header("if-match") ?? null,
    lastEventId: c.req.header("last-event-id") ?? null,
    search: new URL(c.req.url).searchParams,
    bytes: (most) => api.bodies.read(c.env.incoming, { bytes: most, what: "" }),
    incoming: c.env.incoming,
    outgoing: c.env.outgoing,
  };
}

/** What takes no parameter, or no member. */
const NOTHING = strictObject({});

/** They are opened by people and tools, who add parameters that mean nothing to them. */
const DOCUMENTS = /^\/reference\b|\/openapi\.json$/;

/** Null: it is not looked at, or by its route, because it may have names that are there twice. */
function queryOf({ path, query }: Route): GenericSchema | null {
  return path === "/export" || DOCUMENTS.test(path) ? null : (query ?? NOTHING);
}

/** Null: it is not read, or by its route alone. */
function bodyOf({ method, path, body }: Route): GenericSchema | null {
  return method === "GET" || path === "/import" ? null : (body ?? NOTHING);
}

/** @throws RequestError invalid for a parameter that is there twice: only one would count */
function readQuery(c: ApiContext): Record<string, string> {
  const repeated = Object.entries(c.req.queries()).find(([, values]) => values.length > 1);
  if (repeated === undefined) return c.req.query();
  const [name, values] = repeated;
  throw invalid(
    name,
    `expected once, found ${values.length} times${name === "status" ? ": join them by commas" : ""}`,
  );
}

/** A body may have come slowly. @throws RequestError not_authenticated, forbidden */
async function whoStillMay(
  { logins }: Api,
  { needs }: Route,
  sender: Principal | null,
): Promise<Principal | null> {
  if (sender === null) return null;
  const principal = await requireStill(logins, sender);
  requirePermission(principal, needs);
  return principal;
}

/** @throws RequestError not_authenticated, cross_site */
async function identify(
  api: Api,
  route: Route,
  c: ApiContext,
  address: string,
): Promise<Principal | null> {
  const { headers } = c.env.incoming;
  const sent = findToken(headers);
  const changes = route.method !== "GET";
  if (changes && sent?.by !== "header" && api.isCrossSite(headers))
    throw new RequestError("cross_site", "A page of another site cannot change anything here");
  const isOpen = route.needs === "anyone";
  if (isOpen && !route.knowsVisitor) return null;
  const principal = sent === null ? null : await api.logins.authenticate(sent.token, address);
  if (principal === null && !isOpen)
    throw refuseLogin(api.prefix, headers.authorization !== undefined && sent === null);
  return principal;
}

/** @param isElsewhere whether there is a credential of another kind */
function refuseLogin(prefix: string, isElsewhere: boolean): RequestError {
  const needed =
    `A valid login token is needed: POST ${prefix}/api/latest/auth/login, ` +
    "then send it as x-service-token";
  const advice = "; Authorization has keys of webhooks, and counts at their calls alone";
  return new RequestError("not_authenticated", isElsewhere ? needed + advice : needed);
}

/** @throws RequestError body_too_large, bad_body, overloaded */
async function readJson(
  api: Api,
  { needs, schema }: Pick<Route, "needs"> & { readonly schema: GenericSchema },
  { incoming, outgoing }: HttpBindings,
  address: string,
) {
  const bytes = await api.bodies.read(incoming, needs === "anyone" ? LOGIN_LIMIT : LIMIT);
  if (bytes === null) return {};
  if (bytes.length <= AT_ONCE) return readBody(toText(bytes), schema);
  const owner = { client: networkOf(address), isWanted: () => !outgoing.destroyed };
  return joinMembers(await api.largeBodies.members(bytes, owner), schema);
}

/** Nobody would read it to its end, and it counts as open until then. */
async function withoutStream({ stream, ...answer }: Answer): Promise<Answer> {
  await stream?.cancel();
  return answer;
}

function toResponse({ status, body, text, bytes, stream, headers }: Answer): Response {
  if (status === 204 || status === 302)
    return new Response(null, { status, headers: { ...headers } });
  return new Response(stream ?? bytes ?? text ?? JSON.stringify(body), {
    status,
    headers: {
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...headers,
    },
  });
}

function traceOf({ env }: ApiContext) {
  return readTrace(env.incoming, env.outgoing);
}

/** Every error of the API as problem details (RFC 9457). */
export function respondError({ log }: Pick<Api, "log">, c: ApiContext, error: unknown): Response {
  const known = toRequestError(error);
  if (!(known instanceof RequestError))
    log.error({ path: c.req.path, err: error, ...traceOf(c) }, "Cannot answer");
  const refused =
    known instanceof RequestError
      ? known
      : new RequestError("internal", "The service failed. Its log has the reason");
  // As it was asked for: the routes do not know of a prefix.
  const [path = "/"] = (c.env.incoming.url ?? "/").split("?", 1);
  const authenticate = refused.status === 401 ? { "www-authenticate": "Bearer" } : {};
  return new Response(JSON.stringify(toProblem(refused, path)), {
    status: refused.status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...authenticate,
      ...refused.headers,
    },
  });
}
