import { copyButton } from "./copy.ts";
import { button, el } from "./element.ts";
import type { Webhook } from "./resources.ts";
import { SNIPPETS } from "./snippets.ts";

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

function whoMayCall({ is_enabled, is_key_required, require_login }: Webhook): string {
  if (!is_enabled) return "Disabled: the URL answers 404 to everybody.";
  if (is_key_required && require_login) return "Private: callers need the key and a login token.";
  if (is_key_required) return "Private: callers need the key.";
  if (require_login) return "Private: callers need a login token.";
  return "Public: anybody who reaches the service can call it. The flow must not trust its input.";
}
