import { call } from "./api.ts";
import { copyButton } from "./copy.ts";
import { passwordField, withPassword } from "./dialog.ts";
import { el } from "./element.ts";
import { buttons, formError } from "./field.ts";
import { onSubmit } from "./form.ts";
import { may, pagePath } from "./page.ts";
import type { Webhook } from "./resources.ts";
import { openTryIt } from "./try-it.ts";

/** After the creation: the key while it can be seen, then enable, then the first call. */
export function showCreated(place: HTMLElement, webhook: Webhook): void {
  const { name, key = "" } = webhook;
  const heading = document.querySelector("h1");
  if (heading !== null) heading.textContent = name;
  document.title = `${name} · Flowhook`;
  const tryIt = el("section", { class: "step", hidden: true });
  const enable = enableStep(webhook, () => {
    tryIt.hidden = false;
    tryIt.append(el("h2", {}, "Try it"));
    openTryIt(tryIt, { ...webhook, is_enabled: true }, key);
  });
  place.append(keyStep(key), enable, tryIt);
  place.querySelector<HTMLElement>("[name=password]")?.focus();
}

export function keyStep(key: string): HTMLElement {
  return el(
    "section",
    { class: "step" },
    el("h2", {}, "Its key"),
    el("p", {}, "This is shown once. Keep it where your callers' secrets are kept."),
    el(
      "p",
      { class: "secret" },
      el("code", {}, key),
      copyButton("Copy", () => key),
    ),
  );
}

function enableStep({ name }: Webhook, done: () => void): HTMLElement {
  const page = el("a", { class: "button quiet", href: pagePath("webhooks", name) }, "Later");
  const submit = el("button", { type: "submit" }, "Enable");
  const intro = "A new webhook is disabled: its URL answers 404. Enable it with your password.";
  const form = el("form", { class: "narrow" }, passwordField(), formError(), buttons(submit, page));
  const step = el(
    "section",
    { class: "step" },
    el("h2", {}, "Enable it"),
    el("p", {}, intro),
    form,
  );
  if (!may("webhook.authenticate")) {
    form.replaceWith(el("p", {}, "Your roles do not allow this: ask an operator.", page));
    return step;
  }
  onSubmit(form, () =>
    withPassword(form, async (password) => {
      const body = { password, is_enabled: true };
      await call("PUT", ["webhook", name, "authentication"], { body });
      step.replaceChildren(el("p", { class: "done" }, "It is enabled: its URL answers calls. "));
      step.append(el("a", { href: pagePath("webhooks", name) }, "Its page"));
      done();
    }),
  );
  return step;
}
