import { useRef, type Child } from "hono/jsx/dom";
import type { Members } from "../shared/contract/webhook-members.ts";
import { call, type ApiAnswer } from "./api.ts";
import { Form } from "./form.tsx";
import { changesOf, isSame } from "./form-values.ts";
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
  const body = changesOf(held.body, members);
  const isAsHeld = (Object.keys(body) as (keyof Members)[]).every((name) =>
    isSame(shown.body[name], held.body[name]),
  );
  const { etag } = isOver ? await call<Webhook>("GET", path) : isAsHeld ? shown : held;
  return call<Webhook>("PATCH", path, { body, etag });
}
