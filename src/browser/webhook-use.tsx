import { useState } from "hono/jsx/dom";
import { Choices } from "./button.tsx";
import { CopiedLine, CopyButton } from "./copy.tsx";
import { readExampleBody } from "./example-body.ts";
import { useLoaded } from "./loaded.ts";
import type { Webhook } from "./resources.ts";
import { SenderSettings } from "./sender-settings.tsx";
import { SIGNED_SNIPPETS, SNIPPETS } from "./snippets.ts";
import { whoMayCall } from "./webhook-callers.tsx";

const SIGNING = "Signed as its sender signs: the command asks for the secret.";

/** What a call needs that the commands do not have. */
export function lacksOf({ methods, idempotency }: Webhook): readonly string[] {
  const isOther = methods !== null && !methods.includes("POST");
  const [place = "", name = ""] = (idempotency?.from ?? "").split(/:(.*)/s);
  const where = { header: "in the header", query: "in the query, as", json: "in the body, at" }[
    place
  ];
  return [
    ...(isOther ? [`Calls need the method ${methods.join(" or ")}: the commands send POST.`] : []),
    ...(idempotency?.required === true && where !== undefined
      ? [`Each call needs a new value ${where} ${name}: without one it is answered with 400.`]
      : []),
  ];
}

/** The URL of a webhook, and how to call it in several languages. */
export function WebhookUse({ webhook }: { webhook: Webhook }) {
  const { url, is_key_required, require_login, flow } = webhook;
  const [example] = useLoaded(async () => ({ body: await readExampleBody(flow) }), [flow]);
  const [chosen, choose] = useState(0);
  const key = is_key_required ? "YOUR_KEY" : null;
  if (example === null) return null;
  const isSigned = webhook.signature?.mode === "enforce";
  const snippets = isSigned ? SIGNED_SNIPPETS : SNIPPETS;
  // One that is signed from now on has fewer.
  const at = Math.min(chosen, snippets.length - 1);
  const text = snippets[at]?.[1]({ url, key, require_login, ...example }) ?? "";
  return (
    <>
      <h2>URL</h2>
      <CopiedLine text={url} />
      <p class="soft">{whoMayCall(webhook)}</p>
      <SenderSettings webhook={webhook} />
      <h2>Call it</h2>
      {isSigned ? <p class="soft">{SIGNING}</p> : null}
      {lacksOf(webhook).map((lack) => (
        <p class="trouble">{lack}</p>
      ))}
      <div class="over">
        <Choices
          label="Language"
          names={snippets.map(([name]) => name)}
          chosen={at}
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
