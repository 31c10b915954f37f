import { read } from "./api.ts";
import { copyButton } from "./copy.ts";
import { el } from "./element.ts";
import { between, duration } from "./format.ts";
import { parseExact } from "./json-exact.ts";
import { jsonView } from "./json-view.ts";
import type { CallAnswer } from "./legs.ts";
import { may, pagePath } from "./page.ts";
import type { Execution } from "./resources.ts";
import { badge, statusBadge } from "./status.ts";

/** The answer as it came, and the execution behind it. */
export async function showAnswer(answer: CallAnswer): Promise<HTMLElement> {
  const { status, headers, text } = answer;
  const lines = headers.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  return el(
    "div",
    {},
    el(
      "p",
      { class: "badges" },
      badge(String(status), status < 400 ? "good" : "bad"),
      el("span", {}, adviceFor(status)),
    ),
    await executionOf(answer),
    bodyOf(answer, text),
    el(
      "details",
      {},
      el("summary", {}, "Headers of the answer"),
      el("dl", { class: "pairs" }, ...lines.flat()),
    ),
  );
}

/** What to do about an answer that comes from the service and not from the flow. */
function adviceFor(status: number): string {
  if (status === 401) return "The key or the login is missing or wrong.";
  if (status === 402) return "The webhook is in development, and nobody has been active here.";
  if (status === 404) return "There is no enabled webhook at this URL: enable it first.";
  return "";
}

async function executionOf({ executionId }: CallAnswer): Promise<HTMLElement | null> {
  if (executionId === null) return null;
  const link = el("a", { href: pagePath("executions", executionId) }, "Open its execution");
  if (!may("execution.read")) return el("p", { class: "soft" }, `Execution ${executionId}`);
  const found = await read<Execution>(["execution", executionId]).catch(() => null);
  if (found === null) return el("p", {}, link);
  const took = duration(between(found.started_at, found.ended_at));
  return el(
    "p",
    { class: "badges" },
    statusBadge(found.status),
    el("span", { class: "soft" }, `ran ${took}`),
    link,
  );
}

function bodyOf(answer: CallAnswer, text: string): HTMLElement {
  const type = answer.headers.find(([name]) => name === "content-type")?.[1] ?? "";
  if (text === "") return el("p", { class: "soft" }, "The answer has no body.");
  if (/json/.test(type)) return jsonOf(text);
  if (/html|svg|xml/.test(type) && answer.finalUrl !== null) return pageOf(answer.finalUrl, text);
  return sourceOf(text);
}

function jsonOf(text: string): HTMLElement {
  try {
    return jsonView(parseExact(text), "the answer");
  } catch {
    return sourceOf(text);
  }
}

function sourceOf(text: string): HTMLElement {
  const tools = el(
    "div",
    { class: "json-tools" },
    copyButton("Copy", () => text),
  );
  return el("div", { class: "json-frame" }, tools, el("pre", { tabindex: 0 }, text));
}

/**
 * A page of a flow: the final leg once more, in a frame of an opaque origin, so that its scripts
 * have nothing of this page and nothing of the visitor's session.
 */
function pageOf(url: string, text: string): HTMLElement {
  const frame = el("iframe", {
    class: "answer",
    title: "The answer as a page",
    sandbox: "allow-forms allow-scripts",
    referrerpolicy: "no-referrer",
    src: url,
  });
  const source = el("details", {}, el("summary", {}, "Its source"), sourceOf(text));
  return el("div", {}, frame, source);
}
