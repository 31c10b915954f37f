import type { Child } from "hono/jsx/dom";
import type { Members } from "../shared/contract/webhook-members.ts";
import { call, type ApiAnswer } from "./api.ts";
import { Form } from "./form.tsx";
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

/** Members as they are sent: what is left out of one takes its default. */
export type SentMembers = Readonly<Partial<Record<keyof Members, unknown>>>;

/** A form of members that need no password; each is sent where it was changed. */
export function MemberForm(
  props: WebhookPart & { toMembers: (values: FormData) => SentMembers; children: Child },
) {
  const { shown, changed, toMembers } = props;
  const save = async (values: FormData): Promise<void> => {
    const members = Object.entries(toMembers(values));
    const body = Object.fromEntries(members.filter(([name, value]) => differs(shown, name, value)));
    changed(await patch(shown, body));
    notify("Saved");
  };
  return (
    <Form act={save} submit="Save" isFixed={!may("webhook.write")}>
      {props.children}
    </Form>
  );
}

function differs({ body }: ShownWebhook, name: string, value: unknown): boolean {
  return JSON.stringify(value) !== JSON.stringify(body[name as keyof Members]);
}

/** @throws ApiError also where somebody else has changed it meanwhile */
export function patch({ body, etag }: ShownWebhook, change: object): Promise<ShownWebhook> {
  return call<Webhook>("PATCH", ["webhook", body.name], { body: change, etag });
}
