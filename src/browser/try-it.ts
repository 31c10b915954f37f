import { sentenceOf } from "./api.ts";
import { button, el, need } from "./element.ts";
import { buttons, check, field, formError } from "./field.ts";
import { isChecked, onSubmit, showAt, valueOf } from "./form.ts";
import { duration } from "./format.ts";
import { callByLegs, type CallRequest, type Leg } from "./legs.ts";
import { apiPath } from "./page.ts";
import type { Webhook } from "./resources.ts";
import { showAnswer } from "./try-answer.ts";

const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE", "HEAD"];

const TYPES = [
  ["application/json", "JSON"],
  ["application/yaml", "YAML"],
  ["", "No body"],
] as const;

/** A form that makes a call of the webhook, and shows each leg and the answer. */
export function openTryIt(place: HTMLElement, webhook: Webhook, key: string): void {
  const form = el("form", { class: "try" });
  const result = el("div", { "aria-live": "polite" });
  form.append(...fieldsOf(webhook, key));
  place.append(el("div", { class: "halves" }, form, result));
  const type = need("[name=type]", HTMLSelectElement, form);
  const body = need("[name=body]", HTMLTextAreaElement, form);
  const fit = () => {
    const hasBody = !["GET", "HEAD"].includes(valueOf(form, "method"));
    type.disabled = !hasBody;
    body.disabled = !hasBody || type.value === "";
  };
  form.addEventListener("change", fit);
  fit();
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  onSubmit(form, async () => {
    const request = toRequest(form, webhook);
    if (request !== null) await send(request, result);
  });
}

function fieldsOf(webhook: Webhook, key: string): HTMLElement[] {
  const methods = METHODS.map((method) => [method, method] as const);
  const hint =
    "The service cannot show it again. It is sent as Authorization: Bearer, and kept on this page only.";
  return [
    el(
      "div",
      { class: "row first-small" },
      field({ name: "method", label: "Method", choices: methods, value: "POST" }),
      field({ name: "sub_path", label: "Sub-path after /call/" }),
    ),
    ...(webhook.is_key_required
      ? [
          field({
            name: "key",
            label: "Key",
            type: "password",
            value: key,
            ...(key === "" ? { hint } : {}),
          }),
        ]
      : []),
    el(
      "div",
      { class: "row" },
      field({ name: "query", label: "Query", rows: 2, hint: "One name=value in each line." }),
      field({
        name: "headers",
        label: "Headers",
        rows: 2,
        hint: "One Name: value in each line. traceparent is added, to tell its execution.",
      }),
    ),
    field({ name: "type", label: "Body", choices: TYPES, value: "application/json" }),
    field({ name: "body", label: "Content of the body", rows: 5, value: '{ "name": "Ada" }' }),
    check("async", "Asynchronous: answer with the execution's ID at once", false),
    formError(),
    buttons(
      el("button", { type: "submit" }, "Send"),
      el("span", { class: "soft" }, "or Ctrl+Enter"),
    ),
  ];
}

/** null where a field says what is wrong. */
function toRequest(form: HTMLFormElement, webhook: Webhook): CallRequest | null {
  const headers = toHeaders(form);
  if (headers === null) return null;
  const method = valueOf(form, "method");
  const type = valueOf(form, "type");
  const hasBody = method !== "GET" && method !== "HEAD" && type !== "";
  const content = valueOf(form, "body");
  if (hasBody && type === "application/json" && !isJson(form, content)) return null;
  if (hasBody && !headers.has("content-type")) headers.set("content-type", type);
  const key = webhook.is_key_required ? valueOf(form, "key") : "";
  if (key !== "" && !headers.has("authorization")) headers.set("authorization", `Bearer ${key}`);
  const url = toUrl(form, webhook.name);
  return { webhook: webhook.name, url, method, headers, body: hasBody ? content : null };
}

function isJson(form: HTMLFormElement, content: string): boolean {
  try {
    JSON.parse(content);
    return true;
  } catch (error) {
    showAt(form, "body", `This is not JSON: ${sentenceOf(error)}`);
    return false;
  }
}

function toHeaders(form: HTMLFormElement): Headers | null {
  const headers = new Headers();
  for (const line of linesOf(valueOf(form, "headers"))) {
    const at = line.indexOf(":");
    try {
      headers.append(
        line.slice(0, at === -1 ? undefined : at).trim(),
        at === -1 ? "" : line.slice(at + 1).trim(),
      );
    } catch {
      showAt(form, "headers", `"${line}" is no header: write Name: value`);
      return null;
    }
  }
  return headers;
}

function toUrl(form: HTMLFormElement, webhook: string): string {
  const subPath = valueOf(form, "sub_path").replace(/^\//, "");
  const path = apiPath("webhook", webhook, "call") + (subPath === "" ? "" : `/${subPath}`);
  const url = new URL(path, location.origin);
  for (const line of linesOf(valueOf(form, "query"))) {
    const [name = "", ...value] = line.split("=");
    url.searchParams.append(name, value.join("="));
  }
  if (isChecked(form, "async")) url.searchParams.append("async", "");
  return url.href;
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

async function send(request: CallRequest, result: HTMLElement): Promise<void> {
  const rows = el("tbody");
  const legs = el(
    "table",
    { class: "legs" },
    el("caption", {}, "Legs"),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ...["Leg", "Answer", "Begins at", "Takes"].map((name) => el("th", { scope: "col" }, name)),
      ),
    ),
    rows,
  );
  const waiting = el("p", { class: "soft" }, "Waiting for the answer …");
  const stop = button("Clear", "quiet", () => result.replaceChildren());
  result.replaceChildren(el("h2", { class: "first" }, "Answer"), legs, waiting);
  try {
    const answer = await callByLegs(request, (leg) => rows.append(toRow(leg)));
    waiting.replaceWith(await showAnswer(answer), stop);
  } catch (error) {
    waiting.replaceWith(el("p", { class: "fault" }, sentenceOf(error)));
  }
}

function toRow({ what, status, fromMs, tookMs }: Leg): HTMLElement {
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, what),
    el("td", {}, String(status)),
    el("td", {}, duration(fromMs)),
    el("td", {}, duration(tookMs)),
  );
}
