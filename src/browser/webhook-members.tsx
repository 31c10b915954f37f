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
  const save = (isOver: boolean) => async (values: FormData) => {
    changed(await patch(shown, toMembers(values), isOver));
    notify("Saved");
  };
  return (
    <Form act={save(false)} actOver={save(true)} submit="Save" isFixed={!may("webhook.write")}>
      {props.children}
    </Form>
  );
}

function differs({ body }: ShownWebhook, name: string, value: unknown): boolean {
  return toOrdered(value) !== toOrdered(body[name as keyof Members]);
}

/** The service has the members of a value in another order than the form has its fields. */
function toOrdered(value: unknown): string | undefined {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member !== "object" || member === null || Array.isArray(member)
      ? member
      : Object.fromEntries(
          Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)),
        ),
  );
}

/**
 * Sends what differs from what is shown.
 *
 * @param isOver whether also where somebody else has changed it meanwhile, in what is sent
 * @throws ApiError
 */
export async function patch(
  shown: ShownWebhook,
  members: SentMembers,
  isOver: boolean,
): Promise<ShownWebhook> {
  const path = ["webhook", shown.body.name];
  const changes = Object.entries(members).filter(([name, value]) => differs(shown, name, value));
  const { etag } = isOver ? await call<Webhook>("GET", path) : shown;
  return call<Webhook>("PATCH", path, { body: Object.fromEntries(changes), etag });
}
