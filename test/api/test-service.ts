import assert from "node:assert/strict";
import {
  ADMIN_PASSWORD,
  launch,
  startService,
  terminate,
  type Json,
  type Running,
  type ServiceOptions,
} from "../blackbox/service.ts";
import { environment } from "../blackbox/target.ts";
import { assertDescribed } from "./described.ts";

export const PASSWORD = "another horse battery staple 8";

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; null without one. */
  readonly json: Json;
  /** Code of the problem; empty for a success. */
  readonly code: string;
}

export interface Request {
  /** null: none. Without it the administrator's. */
  readonly token?: string | null;
  /** Of whoever asks, for what needs it again; null: left out. Without it the administrator's. */
  readonly password?: string | null;
  readonly body?: unknown;
  /** Sent as it is instead of a JSON body. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A running service, and requests to its management API, each answer held against its schema. */
export interface TestService {
  readonly url: string;
  /** Where its configuration, its plugins and its data are. */
  readonly directory: string;
  ask(method: string, path: string, request?: Request): Promise<Reply>;
  /** As `ask`, and fails for another status. */
  want(status: number, method: string, path: string, request?: Request): Promise<Reply>;
  /** A new token, the administrator's unless a name is given. */
  login(user_name?: string, password?: string): Promise<string>;
  /** Makes a user with roles, and logs in; returns the token. */
  user(name: string, roles: readonly string[]): Promise<string>;
  /** Everything that was printed. */
  logs(): string;
  /** Stops it, and keeps its files until it is disposed of. */
  stop(): Promise<void>;
  /** Stops it, and starts it again on the same files. */
  restart(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openTestService(options: ServiceOptions = {}): Promise<TestService> {
  const service = await startService({ flows: ["echo"], ...options });
  let url = service.url;
  let admin = service.token();
  let restarted: Running | null = null;
  const printed: string[] = [];

  async function ask(method: string, path: string, request: Request = {}): Promise<Reply> {
    const { text, headers } = request;
    const body = withOwnPassword(method, path, request);
    const token = request.token === undefined ? admin : request.token;
    const answer = await fetch(`${url}/api/latest${path}`, {
      method,
      redirect: "manual",
      headers: {
        ...(token === null ? {} : { "x-service-token": token }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(text === undefined ? {} : { body: text }),
    });
    return toReply(method, path, answer);
  }

  async function want(status: number, method: string, path: string, request?: Request) {
    const reply = await ask(method, path, request);
    assert.equal(reply.status, status, `${method} ${path}: ${reply.text}`);
    return reply;
  }

  async function login(user_name = "admin", password = ADMIN_PASSWORD): Promise<string> {
    const body = { user_name, password };
    const { json } = await want(200, "POST", "/auth/login", { token: null, body });
    return memberOf(json, "token");
  }

  async function stop(): Promise<void> {
    if (restarted === null) await service.stop({ keepFiles: true });
    else await terminate(restarted.child);
  }

  return {
    get url() {
      return url;
    },
    directory: service.directory,
    ask,
    want,
    login,
    async user(name, roles) {
      await want(201, "POST", "/user", { body: { name, password: PASSWORD, roles } });
      return login(name, PASSWORD);
    },
    logs: () => [service.logs(), ...printed, restarted?.logs() ?? ""].join("\n"),
    stop,
    async restart() {
      await stop();
      if (restarted !== null) printed.push(restarted.logs());
      restarted = await launch(service.target, service.directory, ["serve"], environment());
      url = restarted.url;
      admin = await login();
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await service.stop();
    },
  };
}

/** The body with the own password in it, where the change needs that again. */
function withOwnPassword(method: string, path: string, request: Request): unknown {
  const { body, text, token } = request;
  const own =
    request.password === undefined && token === undefined ? ADMIN_PASSWORD : request.password;
  if (!/^\/(user|role|token)\b/.test(path) || method === "GET" || text !== undefined) return body;
  const member = path.startsWith("/user") && method !== "DELETE" ? "own_password" : "password";
  return own === null || own === undefined ? body : { [member]: own, ...(body as object) };
}

async function toReply(method: string, path: string, answer: Response): Promise<Reply> {
  const type = answer.headers.get("content-type") ?? "";
  const isStream = type.startsWith("text/event-stream");
  if (isStream) await answer.body?.cancel();
  const text = isStream ? "" : await answer.text();
  const { status, headers } = answer;
  assertDescribed(method, path, { status, type, text });
  const json = /json/.test(type) && text !== "" ? (JSON.parse(text) as Json) : null;
  const code = status >= 400 ? memberOf(json, "type").replace("urn:flowhook:error:", "") : "";
  return { status, headers, text, json, code };
}

/** A member of a JSON object as text. */
export function memberOf(json: Json, name: string): string {
  assert.ok(typeof json === "object" && json !== null && !Array.isArray(json));
  const value = json[name];
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

/** The items of a list. */
export function itemsOf(json: Json): { [name: string]: Json }[] {
  assert.ok(typeof json === "object" && json !== null && !Array.isArray(json));
  return json["items"] as { [name: string]: Json }[];
}

export { ADMIN_PASSWORD };
