import { FieldError, jsonOf, textOf } from "./form-values.ts";
import { toJsonBody, type InputField } from "./input-fields.ts";
import type { CallRequest } from "./legs.ts";
import { apiPath } from "./page.ts";
import type { Webhook } from "./resources.ts";

/** Of the choice of the body: its fields are asked for one by one. */
export const BY_FIELDS = "fields";

const JSON_TYPE = "application/json";

export function canHaveBody(method: string): boolean {
  return method !== "GET" && method !== "HEAD";
}

/** POST, or else what the webhook takes. */
export function methodOf({ methods }: Webhook): string {
  return methods === null || methods.includes("POST") ? "POST" : (methods[0] ?? "POST");
}

/**
 * The call that a form describes.
 *
 * @param fields of the body, where it is asked for by them
 * @throws FieldError
 */
export function toRequest(
  values: FormData,
  webhook: Webhook,
  fields: readonly InputField[],
): CallRequest {
  const headers = toHeaders(textOf(values, "headers"));
  const method = textOf(values, "method");
  const type = textOf(values, "type");
  const hasBody = canHaveBody(method) && type !== "";
  const body = hasBody ? toBody(values, fields) : null;
  if (hasBody && !headers.has("content-type"))
    headers.set("content-type", type === BY_FIELDS ? JSON_TYPE : type);
  const key = textOf(values, "key");
  if (key !== "" && !headers.has("authorization")) headers.set("authorization", `Bearer ${key}`);
  const url = toUrl(values, webhook.name);
  requireSent(headers, url);
  const isKeyed = webhook.is_key_required;
  const sendsKey = headers.has("authorization") || new URL(url).searchParams.has("key");
  const canFollow = webhook.signature?.mode !== "enforce" && (!isKeyed || sendsKey);
  const isIdempotent = hasIdempotencyKey(webhook, headers, url);
  return { webhook: webhook.name, url, method, headers, body, canFollow, isKeyed, isIdempotent };
}

/** Where it is not required, and is in the body, that is not looked for. */
function hasIdempotencyKey({ idempotency }: Webhook, headers: Headers, url: string): boolean {
  if (idempotency === null) return false;
  const { from, required } = idempotency;
  const [place = "", name = ""] = from.split(/:(.*)/s);
  if (place === "header" && headers.has(name)) return true;
  if (place === "query" && new URL(url).searchParams.has(name)) return true;
  return required;
}

function toBody(values: FormData, fields: readonly InputField[]): string {
  const type = textOf(values, "type");
  if (type === BY_FIELDS) return toJsonBody(values, fields);
  if (type === JSON_TYPE) jsonOf(values, "body");
  return textOf(values, "body");
}

function toHeaders(text: string): Headers {
  const headers = new Headers();
  for (const line of linesOf(text)) {
    const [name = "", ...value] = line.split(":");
    try {
      headers.append(name.trim(), value.join(":").trim());
    } catch {
      throw new FieldError("headers", `"${line}" is no header: write Name: value`);
    }
  }
  return headers;
}

/** Browsers leave some headers out of what a page sends, and say nothing. @throws FieldError */
function requireSent(headers: Headers, url: string): void {
  const sent = new Request(url, { headers }).headers;
  const unsent = [...headers.keys()].filter((name) => !sent.has(name));
  if (unsent.length === 0) return;
  throw new FieldError("headers", `A page cannot send ${unsent.join(", ")}: take it out`);
}

/** What a browser takes out of a path, also where it is written with %. */
const DOTS = /(?:^|[/\\])(?:\.|%2e){1,2}(?=$|[/\\])/i;

/** @throws FieldError */
function toUrl(values: FormData, webhook: string): string {
  const subPath = textOf(values, "sub_path");
  if (DOTS.test(subPath))
    throw new FieldError(
      "sub_path",
      "Browsers take . and .. out of a path: the call would go elsewhere",
    );
  const start = subPath === "" || subPath.startsWith("/") ? "" : "/";
  const path = apiPath("webhook", webhook, "call") + start + subPath;
  const url = new URL(path, location.origin);
  for (const line of linesOf(textOf(values, "query"))) {
    const [name = "", ...value] = line.split("=");
    url.searchParams.append(name, value.join("="));
  }
  if (values.has("async")) url.searchParams.append("async", "");
  return url.href;
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
