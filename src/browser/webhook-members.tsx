import { call, type ApiAnswer } from "./api.ts";
import { Field, type FieldOptions } from "./field.tsx";
import { FieldError, Form, textOf } from "./form.tsx";
import { notify } from "./notice.tsx";
import { may } from "./page.ts";
import type { Webhook } from "./resources.ts";

/** A webhook as it was read, with the state that a change must match. */
export type ShownWebhook = ApiAnswer<Webhook>;

/** A part of the page of a webhook, which shows it and may change it. */
export interface WebhookPart {
  readonly shown: ShownWebhook;
  readonly changed: (now: ShownWebhook) => void;
}

/** A member of a webhook as a field of a form. */
export interface MemberField extends FieldOptions {
  /** Its default, and what a call is answered that it refuses. */
  readonly hint: string;
  /** The member as text. */
  readonly toText: (webhook: Webhook) => string;
  /** What the text stands for. @throws Error with what is wrong */
  readonly toValue: (text: string) => unknown;
}

/** A form of members that need no password; each is sent where it was changed. */
export function MemberForm(props: WebhookPart & { fields: readonly MemberField[] }) {
  const { shown, changed, fields } = props;
  const save = async (values: FormData): Promise<void> => {
    const differing = fields.filter((one) => textOf(values, one.name) !== one.toText(shown.body));
    const body = Object.fromEntries(differing.map((one) => [one.name, valueOf(one, values)]));
    changed(await patch(shown, body));
    notify("Saved");
  };
  return (
    <Form act={save} submit="Save" isFixed={!may("webhook.write")}>
      {fields.map((one) => (
        <Field key={one.name} {...one} value={one.toText(shown.body)} />
      ))}
    </Form>
  );
}

/** @throws ApiError also where somebody else has changed it meanwhile */
export function patch({ body, etag }: ShownWebhook, change: object): Promise<ShownWebhook> {
  return call<Webhook>("PATCH", ["webhook", body.name], { body: change, etag });
}

function valueOf({ name, toValue }: MemberField, values: FormData): unknown {
  try {
    return toValue(textOf(values, name));
  } catch (error) {
    throw new FieldError(name, (error as Error).message);
  }
}
