import { useState } from "hono/jsx/dom";
import { Choices } from "./button.tsx";
import { CopiedLine, CopyButton } from "./copy.tsx";
import type { Webhook } from "./resources.ts";
import { SNIPPETS } from "./snippets.ts";
import { senderUrl } from "./webhook-signature.tsx";

/** The URL of a webhook, and how to call it in several languages. */
export function WebhookUse({ webhook }: { webhook: Webhook }) {
  const { url, is_key_required, require_login } = webhook;
  const [chosen, choose] = useState(0);
  const key = is_key_required ? "YOUR_KEY" : null;
  const text = SNIPPETS[chosen]?.[1]({ url, key, require_login }) ?? "";
  return (
    <>
      <h2>URL</h2>
      <CopiedLine text={url} />
      <p class="soft">{whoMayCall(webhook)}</p>
      {webhook.signature === null ? null : (
        <>
          <h2>URL for the sender</h2>
          <CopiedLine text={senderUrl(webhook)} />
        </>
      )}
      <h2>Call it</h2>
      <div class="over">
        <Choices
          label="Language"
          names={SNIPPETS.map(([name]) => name)}
          chosen={chosen}
          choose={choose}
        />
        <CopyButton text={() => text} />
      </div>
      <pre tabindex={0}>
        <code>{text}</code>
      </pre>
    </>
  );
}

function whoMayCall(webhook: Webhook): string {
  if (!webhook.is_enabled) return "Disabled: the URL answers 404 to everybody.";
  const needed = [
    ...(webhook.is_key_required ? ["the key"] : []),
    ...(webhook.require_login ? ["a login token"] : []),
    ...(webhook.signature?.mode === "enforce" ? ["a signature"] : []),
  ];
  if (needed.length > 0) return `Private: callers need ${needed.join(" and ")}.`;
  return "Public: anybody who reaches the service can call it. The flow must not trust its input.";
}
