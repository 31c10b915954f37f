import type { IncomingMessage, ServerResponse } from "node:http";
import type { GenericSchema, InferInput, InferOutput } from "valibot";
import type { AuditChange } from "../../shared/contract/audit-entry.ts";
import type { Permission } from "../../shared/contract/permission.ts";
import type { Read } from "../../shared/contract/read.ts";
import type { Principal } from "../access/login.ts";
import type { Api } from "./api.ts";

/** What a route hands back; one place makes the response of it. */
export interface Answer<Body = unknown> {
  readonly status: 200 | 201 | 204 | 302;
  /** A value that becomes JSON, text or bytes as they are (JSON without a type), or a stream. */
  readonly body?: Body;
  readonly text?: string;
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly stream?: ReadableStream<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the audit says was acted on, where it is not named by the path or the body. */
  readonly target?: string;
  /** What the audit says has changed, as far as it may be shown. */
  readonly changes?: readonly AuditChange[];
}

/** A request whose login, permission and input have been checked. */
export interface ApiRequest<Body, Query> {
  readonly principal: Principal;
  /** Who asks, for routes that anyone may use; null: nobody is logged in. */
  readonly visitor: Principal | null;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly address: string;
  readonly isSecure: boolean;
  /** `https://host[/prefix]`: BASE_URL, or what the request was sent to. */
  readonly base_url: string;
  readonly ifMatch: string | null;
  readonly lastEventId: string | null;
  /** The query with repeated names, for routes without a schema. */
  readonly search: URLSearchParams;
  /** The request's body, for what is not JSON, up to so many bytes; null without one. */
  readonly bytes: (most: number) => Promise<Buffer | null>;
  readonly incoming: IncomingMessage;
  /** Tells when the client is gone. */
  readonly outgoing: ServerResponse;
}

/** A line of the management API's table of contents. */
export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Under /api/latest, in Hono's notation. */
  readonly path: string;
  readonly summary: string;
  /** What the caller's roles must allow; `login`: any valid token; `anyone`: no token either. */
  readonly needs: Permission | "login" | "anyone";
  /** Of a route for anyone: it says more to somebody with a valid token. */
  readonly knowsVisitor: boolean;
  /** What the audit calls it; null for what changes nothing. */
  readonly action: string | null;
  readonly body: GenericSchema | null;
  /** A body that the schema takes, for the description of the API; null without a body. */
  readonly example: unknown;
  readonly query: GenericSchema | null;
  /** Status of a success. */
  readonly status: 200 | 201 | 204;
  /** What a success answers as JSON; null: nothing, or another type. */
  readonly answer: GenericSchema | null;
  /** Media type of a success that is not JSON. */
  readonly type: string | null;
  act(api: Api, request: ApiRequest<never, never>): Promise<Answer>;
}

/** Types `body`, `query` and the answer of `act` after their schemas. */
export function defineRoute<
  const Body extends GenericSchema | undefined = undefined,
  const Query extends GenericSchema | undefined = undefined,
  const Shown extends GenericSchema | undefined = undefined,
>(route: {
  method: Route["method"];
  path: string;
  summary: string;
  needs: Route["needs"];
  knowsVisitor?: boolean;
  action?: string;
  body?: Body;
  example?: Body extends GenericSchema ? InferInput<Body> : never;
  query?: Query;
  status?: Route["status"];
  answer?: Shown;
  type?: string;
  act(
    api: Api,
    request: ApiRequest<
      Body extends GenericSchema ? InferOutput<Body> : undefined,
      Query extends GenericSchema ? InferOutput<Query> : undefined
    >,
  ): Promise<Answer<Shown extends GenericSchema ? Read<Shown> : unknown>>;
}): Route {
  const { action = null, body = null, query = null, example = null } = route;
  const { status = 200, answer = null, type = null, knowsVisitor = false } = route;
  const all = { ...route, knowsVisitor, action, body, example, query, status, answer, type };
  return all;
}
