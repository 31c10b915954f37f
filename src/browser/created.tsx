import { ButtonLink } from "./head.tsx";
import { useEffect, useRef, useState } from "hono/jsx/dom";
import { call } from "./api.ts";
import { CopiedLine } from "./copy.tsx";
import { PasswordField } from "./dialog.tsx";
import { Form } from "./form.tsx";
import { textOf } from "./form-values.ts";
import { KeyShown } from "./key-shown.tsx";
import { useAskBeforeLeaving } from "./leaving.ts";
import { may, pagePath } from "./page.ts";
import type { Webhook } from "./resources.ts";
import { TryIt } from "./try-it.tsx";

/**
 * After the creation: URL and key while it can be seen, then enable, then the first call. Until the
 * key was copied, the browser asks before it leaves.
 */
export function Created({ webhook }: { webhook: Webhook }) {
  const [isEnabled, setEnabled] = useState(false);
  const [isKept, setKept] = useState(webhook.key === undefined);
  useAskBeforeLeaving(!isKept);
  return (
    <>
      <section class="step">
        <h2>Its URL</h2>
        <CopiedLine text={webhook.url} />
      </section>
      <section class="step">
        <h2>Its key</h2>
        <KeyShown webhook={webhook} value={webhook.key ?? ""} copied={() => setKept(true)} />
      </section>
      <EnableStep webhook={webhook} isEnabled={isEnabled} enabled={() => setEnabled(true)} />
      {isEnabled ? (
        <section class="step">
          <h2>Try it</h2>
          <TryIt webhook={webhook} />
        </section>
      ) : null}
    </>
  );
}

function EnableStep(props: { webhook: Webhook; isEnabled: boolean; enabled: () => void }) {
  const { webhook, isEnabled, enabled } = props;
  const place = useRef<HTMLElement | null>(null);
  useEffect(() => place.current?.querySelector<HTMLElement>("[name=password]")?.focus(), []);
  const page = pagePath("webhooks", webhook.name);
  const later = (
    <ButtonLink style="quiet" to={page}>
      Later
    </ButtonLink>
  );
  const enable = async (values: FormData): Promise<void> => {
    const body = { password: textOf(values, "password"), is_enabled: true };
    await call("PUT", ["webhook", webhook.name, "authentication"], { body });
    enabled();
  };
  if (isEnabled)
    return (
      <section class="step" key="done">
        <p class="done">
          It is enabled: its URL answers calls. <a href={page}>Its page</a>
        </p>
      </section>
    );
  return (
    <section class="step" ref={place} key="enable">
      <h2>Enable it</h2>
      <p>A new webhook is disabled: its URL answers 404. Enable it with your password.</p>
      {may("webhook.authenticate") ? (
        <Form act={enable} submit="Enable" beside={later}>
          <PasswordField />
        </Form>
      ) : (
        <p>Your roles do not allow this: ask an operator. {later}</p>
      )}
    </section>
  );
}
