import { call } from "./api.ts";
import { keyStep } from "./created.ts";
import { askPassword } from "./dialog.ts";
import { button, el, type Child } from "./element.ts";
import { buttons, field } from "./field.ts";
import { valueOf } from "./form.ts";
import { notify } from "./notice.ts";
import { may } from "./page.ts";
import type { Webhook } from "./resources.ts";
import { badge } from "./status.ts";
import { describeSignature, signatureFields, toSignatureBody } from "./webhook-signature.ts";

/** What is changed only with the password: Enabled, Require login token cookie, Key. */
export function showAccess(
  place: HTMLElement,
  webhook: Webhook,
  changed: (webhook: Webhook, etag: string | null) => void,
): void {
  const change = async (title: string, more: readonly Child[], body: BodyOf): Promise<void> => {
    await askPassword(title, more, title, async (password, form) => {
      const path = ["webhook", webhook.name, "authentication"];
      const answer = await call<Webhook>("PUT", path, { body: { password, ...body(form) } });
      notify("Changed");
      changed(answer.body, answer.etag);
    });
  };
  place.replaceChildren(
    el("p", { class: "soft" }, "A change here needs your password again."),
    ...(may("webhook.authenticate") ? [] : [el("p", {}, "Your roles do not allow changes here.")]),
    enabled(webhook, change),
    login(webhook, change),
    key(webhook, change),
    signature(webhook, change),
    addresses(webhook, change),
    ...(webhook.key === undefined ? [] : [keyStep(webhook.key)]),
  );
}

type BodyOf = (form: HTMLFormElement) => Record<string, unknown>;
type Change = (title: string, more: readonly Child[], body: BodyOf) => Promise<void>;

function row(title: string, state: HTMLElement, text: string, ...acts: HTMLElement[]): HTMLElement {
  const shown = may("webhook.authenticate") ? acts : [];
  return el(
    "section",
    { class: "setting" },
    el("h2", {}, title, state),
    el("p", { class: "soft" }, text),
    buttons(...shown),
  );
}

function enabled({ is_enabled }: Webhook, change: Change): HTMLElement {
  const title = is_enabled ? "Disable" : "Enable";
  const style = is_enabled ? "quiet" : "";
  const act = button(title, style, () => change(title, [], () => ({ is_enabled: !is_enabled })));
  const text = is_enabled ? "The URL answers calls." : "The URL answers 404 to everybody.";
  return row("Enabled", is_enabled ? badge("Yes", "good") : badge("No", "idle"), text, act);
}

function login({ require_login }: Webhook, change: Change): HTMLElement {
  const title = require_login ? "Do not require a login" : "Require a login";
  const act = button(title, "quiet", () =>
    change(title, [], () => ({ require_login: !require_login })),
  );
  const text = require_login
    ? "Callers send a login token (header x-service-token, or the cookie). The flow gets auth: who they are."
    : "Callers need no account.";
  return row("Require login token cookie", badge(require_login ? "Yes" : "No", "idle"), text, act);
}

function key({ is_key_required }: Webhook, change: Change): HTMLElement {
  const fresh = is_key_required ? "Replace the key" : "Set a key";
  const acts = [
    button(fresh, "quiet", () => change(fresh, keyFields(is_key_required), toKeyBody)),
    ...(is_key_required
      ? [
          button("Remove the key", "quiet", () =>
            change("Remove the key", [removal()], () => ({ key: null })),
          ),
        ]
      : []),
  ];
  const text = is_key_required
    ? "Callers send it as Authorization: Bearer, as the query parameter key, or as the member key of a JSON body. It cannot be read back."
    : "Callers need no key.";
  return row("Key", badge(is_key_required ? "Set" : "None", "idle"), text, ...acts);
}

function signature(webhook: Webhook, change: Change): HTMLElement {
  const isSet = webhook.signature !== null;
  const title = isSet ? "Change the signature" : "Require signatures";
  const acts = [
    button(title, "quiet", async () =>
      change(title, await signatureFields(webhook), toSignatureBody),
    ),
    ...(isSet
      ? [
          button("Require no signatures", "quiet", () =>
            change("Require no signatures", [], () => ({ signature: null })),
          ),
        ]
      : []),
  ];
  const state =
    webhook.signature === null
      ? "None"
      : webhook.signature.mode === "observe"
        ? "Observed"
        : "Required";
  return row("Signature", badge(state, "idle"), describeSignature(webhook), ...acts);
}

function addresses({ allowed_addresses }: Webhook, change: Change): HTMLElement {
  const title = "Change the addresses";
  const list = field({
    name: "allowed_addresses",
    label: "Addresses and ranges",
    hint: "One in each line, as 192.0.2.0/24 or 2001:db8::/32; empty: any. Others get 403. Behind a proxy they are those of clients only where TRUSTED_PROXIES names it.",
    rows: 5,
    value: allowed_addresses.join("\n"),
  });
  const act = button(title, "quiet", () =>
    change(title, [list], (form) => ({
      allowed_addresses: valueOf(form, "allowed_addresses")
        .split(/[\s,]+/)
        .filter((text) => text !== ""),
    })),
  );
  const isAny = allowed_addresses.length === 0;
  const text = isAny ? "Calls may come from any address." : allowed_addresses.join(", ");
  return row("Addresses", badge(isAny ? "Any" : "Listed", "idle"), text, act);
}

function keyFields(hasKey: boolean): HTMLElement[] {
  const own = field({
    name: "key",
    label: "Key",
    hint: "At least 16 characters. Leave it empty, and a random one is made.",
  });
  if (!hasKey) return [own];
  const choices = [
    ["0", "Ends now"],
    ["3600", "Works for another hour"],
    ["86400", "Works for another day"],
  ] as const;
  return [
    own,
    field({ name: "keep_previous_sec", label: "The key until now", choices, value: "0" }),
  ];
}

function toKeyBody(form: HTMLFormElement): Record<string, unknown> {
  const own = valueOf(form, "key");
  const keep =
    form.querySelector("[name=keep_previous_sec]") === null
      ? "0"
      : valueOf(form, "keep_previous_sec");
  return { key: own === "" ? { generate: true } : own, keep_previous_sec: Number(keep) };
}

function removal(): HTMLElement {
  return el(
    "p",
    {},
    "Without a key and without a required login, anybody who reaches the service can call it.",
  );
}
