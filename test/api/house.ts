import assert from "node:assert/strict";
import {
  ADMIN_PASSWORD,
  startService,
  type Json,
  type Service,
  type ServiceOptions,
} from "../blackbox/service.ts";
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
  readonly body?: unknown;
  /** Sent as it is instead of a JSON body. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A running service, and requests to its management API, each answer held against its schema. */
export interface House {
  readonly service: Service;
  ask(method: string, path: string, request?: Request): Promise<Reply>;
  /** As `ask`, and fails for another status. */
  want(status: number, method: string, path: string, request?: Request): Promise<Reply>;
  /** Makes a user with roles, and logs in; returns the token. */
  user(name: string, roles: readonly string[]): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openHouse(options: ServiceOptions = {}): Promise<House> {
  const service = await startService({ flows: ["echo"], ...options });

  async function ask(method: string, path: string, request: Request = {}): Promise<Reply> {
    const { body, text, headers } = request;
    const token = request.token === undefined ? service.token() : request.token;
    const answer = await fetch(`${service.url}/api/latest${path}`, {
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

  async function user(name: string, roles: readonly string[]): Promise<string> {
    await want(201, "POST", "/user", { body: { name, password: PASSWORD, roles } });
    return service.login(name, PASSWORD);
  }

  return {
    service,
    ask,
    want,
    user,
    async [Symbol.asyncDispose]() {
      await service.stop();
    },
  };
}

async function toReply(method: string, path: string, answer: Response): Promise<Reply> {
  const type = answer.headers.get("content-type") ?? "";
  const is_stream = type.startsWith("text/event-stream");
  if (is_stream) await answer.body?.cancel();
  const text = is_stream ? "" : await answer.text();
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
