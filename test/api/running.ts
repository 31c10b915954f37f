import assert from "node:assert/strict";
import { memberOf, type House } from "./house.ts";
import { ADMIN_PASSWORD, type Json } from "../blackbox/service.ts";

/** Creates and enables a webhook without a key. */
export async function openWebhook(house: House, name: string, more: object): Promise<void> {
  await house.want(201, "POST", "/webhook", { body: { name, ...more } });
  await enable(house, name, { key: null });
}

export async function enable(house: House, name: string, more: object): Promise<Json> {
  const body = { password: ADMIN_PASSWORD, is_enabled: true, ...more };
  return (await house.want(200, "PUT", `/webhook/${name}/authentication`, { body })).json;
}

/** The answer of a call, its redirects not followed. */
export function callWebhook(
  house: House,
  name: string,
  payload?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${house.url}/api/latest/webhook/${name}/call?async`, {
    method: "POST",
    redirect: "manual",
    headers: { "content-type": "application/json", ...headers },
    ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
  });
}

/** The record of the execution that a call started, once it has ended. */
export async function runWebhook(house: House, name: string, payload?: unknown): Promise<Json> {
  const answer = await callWebhook(house, name, payload);
  const id = await answer.text();
  assert.equal(answer.status, 201, id);
  return endedExecution(house, id);
}

export async function endedExecution(house: House, id: string): Promise<Json> {
  for (;;) {
    const { status, json } = await house.ask("GET", `/execution/${id}/wait`);
    if (status === 200) return json;
    assert.equal(status, 302);
  }
}

/** What an execution returned. */
export function outputOf(execution: Json): { [name: string]: Json } {
  return JSON.parse(memberOf(execution, "output_value")) as { [name: string]: Json };
}
