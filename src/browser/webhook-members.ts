import { call } from "./api.ts";
import { el } from "./element.ts";
import { buttons, field, formError } from "./field.ts";
import { control, onSubmit, valueOf } from "./form.ts";
import { notify } from "./notice.ts";
import { may } from "./page.ts";
import type { Webhook } from "./resources.ts";

/** A member of a webhook as a field of a form. */
export interface MemberField {
  readonly name: string;
  readonly label: string;
  /** Its default, and what a call is answered that it refuses. */
  readonly hint: string;
  readonly choices?: readonly (readonly [value: string, label: string])[];
  readonly rows?: number;
  /** The member as text. */
  toText(webhook: Webhook): string;
  /** What the text stands for. @throws Error with what is wrong */
  toValue(text: string): unknown;
}

interface Shown {
  webhook: Webhook;
  etag: string | null;
}

/** A form of members that need no password; each is sent where it was changed. */
export function showMembers(
  place: HTMLElement,
  shown: Shown,
  fields: readonly MemberField[],
  changed: (webhook: Webhook) => void,
): void {
  const form = el(
    "form",
    { class: "narrow" },
    ...fields.map((one) => field({ ...one, value: one.toText(shown.webhook) })),
    formError(),
    buttons(el("button", { type: "submit" }, "Save")),
  );
  place.replaceChildren(form);
  if (!may("webhook.write"))
    for (const one of form.querySelectorAll("input, select, textarea, button"))
      one.setAttribute("disabled", "");
  onSubmit(form, async () => {
    const body = toBody(form, shown.webhook, fields);
    const { name } = shown.webhook;
    const answer = await call<Webhook>("PATCH", ["webhook", name], { body, etag: shown.etag });
    shown.webhook = answer.body;
    shown.etag = answer.etag;
    for (const one of fields) control(form, one.name).value = one.toText(answer.body);
    notify("Saved");
    changed(answer.body);
  });
}

function toBody(
  form: HTMLElement,
  webhook: Webhook,
  fields: readonly MemberField[],
): Record<string, unknown> {
  const differing = fields.filter((one) => valueOf(form, one.name) !== one.toText(webhook));
  return Object.fromEntries(
    differing.map((one) => [one.name, one.toValue(valueOf(form, one.name))]),
  );
}
