import { useRef, type Child } from "hono/jsx/dom";
import type { Members } from "../shared/contract/webhook-members.ts";
import { call, type ApiAnswer } from "./api.ts";
import { Form } from "./form.tsx";
import { notify } from "./notice.tsx";
import { may } from "./page.ts";
import type { Webhook } from "./resources.ts";
import { isFree } from "./unsaved.ts";

/** A webhook as it was read, with the state that a change must match. */
export type ShownWebhook = ApiAnswer<Webhook>;

/** A part of the page of a webhook, which shows it and may change it. */
export interface WebhookPart {
  readonly shown: ShownWebhook;
  readonly changed: (now: ShownWebhook) => void;
}

/** Members as they are sent: what is left out of one takes its default. */
export type SentMembers = Readonly<Partial<Record<keyof Members, unknown>>>;

/**
 * A form of members that need no password; each is sent where it was changed. What is newer is drawn
 * in it once nothing is typed that would be lost.
 *
 * @param fields filled with the webhook
 */
export function MemberForm(
  props: WebhookPart & {
    toMembers: (values: FormData) => SentMembers;
    fields: (webhook: Webhook) => Child;
  },
) {
  const { shown, changed, toMembers, fields } = props;
  const place = useRef<HTMLFormElement | null>(null);
  const drawn = useRef(shown);
  if (place.current === null || isFree(place.current)) drawn.current = shown;
  const held = drawn.current ?? shown;
  const save = (isOver: boolean) => async (values: FormData) => {
    const now = await patch({ held, shown }, toMembers(values), isOver);
    drawn.current = now;
    changed(now);
    notify("Saved");
  };
  const isFixed = !may("webhook.write");
  return (
    <Form act={save(false)} actOver={save(true)} submit="Save" isFixed={isFixed} place={place}>
      {fields(held.body)}
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
 * Sends what differs from what the form was filled with: over what somebody else has changed of it
 * since then only where that is asked for.
 *
 * @throws ApiError
 */
async function patch(
  { held, shown }: { held: ShownWebhook; shown: ShownWebhook },
  members: SentMembers,
  isOver: boolean,
): Promise<ShownWebhook> {
  const path = ["webhook", shown.body.name];
  const changes = Object.entries(members).filter(([name, value]) => differs(held, name, value));
  const isAsHeld = changes.every(
    ([name]) => !differs(shown, name, held.body[name as keyof Members]),
  );
  const { etag } = isOver ? await call<Webhook>("GET", path) : isAsHeld ? shown : held;
  return call<Webhook>("PATCH", path, { body: Object.fromEntries(changes), etag });
}
