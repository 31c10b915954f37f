import assert from "node:assert/strict";
import { memberOf, type TestService } from "./test-service.ts";
import { ADMIN_PASSWORD, type Json } from "../blackbox/service.ts";

/** Creates and enables a webhook without a key. */
export async function openWebhook(service: TestService, name: string, more: object): Promise<void> {
  await service.want(201, "POST", "/webhook", { body: { name, ...more } });
  await enable(service, name, { key: null });
}

export async function enable(service: TestService, name: string, more: object): Promise<Json> {
  const body = { password: ADMIN_PASSWORD, is_enabled: true, ...more };
  return (await service.want(200, "PUT", `/webhook/${name}/authentication`, { body })).json;
}

/** The answer of a call, its redirects not followed. */
export function callWebhook(
  service: TestService,
  name: string,
  payload?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${service.url}/api/latest/webhook/${name}/call?async`, {
    method: "POST",
    redirect: "manual",
    headers: { "content-type": "application/json", ...headers },
    ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
  });
}

/** The record of the execution that a call started, once it has ended. */
export async function runWebhook(
  service: TestService,
  name: string,
  payload?: unknown,
): Promise<Json> {
  const answer = await callWebhook(service, name, payload);
  const id = await answer.text();
  assert.equal(answer.status, 201, id);
  return endedExecution(service, id);
}

export async function endedExecution(service: TestService, id: string): Promise<Json> {
  for (;;) {
    const { status, json } = await service.ask("GET", `/execution/${id}/wait`);
    if (status === 200) return json;
    assert.equal(status, 302);
  }
}

/** What an execution returned. */
export function outputOf(execution: Json): { [name: string]: Json } {
  return JSON.parse(memberOf(execution, "output_value")) as { [name: string]: Json };
}
