import { copyButton } from "./copy.ts";
import { button, el } from "./element.ts";
import type { Webhook } from "./resources.ts";
import { SNIPPETS } from "./snippets.ts";
import { senderUrl } from "./webhook-signature.ts";

/** The URL of a webhook, and how to call it in four languages. */
export function showUse(place: HTMLElement, webhook: Webhook): void {
  const { url, is_key_required, require_login } = webhook;
  const options = { url, key: is_key_required ? "YOUR_KEY" : null, require_login };
  const code = el("code");
  const tabs = SNIPPETS.map(([name, write], at) => {
    const choice = button(name, "choice", () => choose(at));
    return { choice, text: write(options) };
  });

  function choose(at: number): void {
    for (const [other, { choice }] of tabs.entries())
      choice.setAttribute("aria-pressed", String(other === at));
    code.textContent = tabs[at]?.text ?? "";
  }

  choose(0);
  place.replaceChildren(
    el("h2", {}, "URL"),
    el(
      "p",
      { class: "secret" },
      el("code", {}, url),
      copyButton("Copy", () => url),
    ),
    el("p", { class: "soft" }, whoMayCall(webhook)),
    ...sender(webhook),
    el("h2", {}, "Call it"),
    el(
      "div",
      { class: "over" },
      el(
        "div",
        { class: "choices", role: "group", "aria-label": "Language" },
        ...tabs.map(({ choice }) => choice),
      ),
      copyButton("Copy", () => code.textContent ?? ""),
    ),
    el("pre", { tabindex: 0 }, code),
  );
}

/** What is typed at the system that signs its calls. */
function sender(webhook: Webhook): HTMLElement[] {
  if (webhook.signature === null) return [];
  const url = senderUrl(webhook);
  return [
    el("h2", {}, "URL for the sender"),
    el(
      "p",
      { class: "secret" },
      el("code", {}, url),
      copyButton("Copy", () => url),
    ),
  ];
}

function whoMayCall(webhook: Webhook): string {
  if (!webhook.is_enabled) return "Disabled: the URL answers 404 to everybody.";
  const needed = [
    ...(webhook.is_key_required ? ["the key"] : []),
    ...(webhook.require_login ? ["a login token"] : []),
    ...(webhook.signature?.mode === "enforce" ? ["a signature"] : []),
  ];
  if (needed.length > 0) return `Private: callers need ${needed.join(" and ")}.`;
  return "Public: anybody who reaches the service can call it. The flow must not trust its input.";
}
