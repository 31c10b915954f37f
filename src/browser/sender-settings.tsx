import type { Child } from "hono/jsx/dom";
import { CopiedLine } from "./copy.tsx";
import { keyBesideSignature } from "./key-beside-signature.ts";
import { pagePath } from "./page.ts";
import type { Webhook } from "./resources.ts";
import { Pairs } from "./table.tsx";

type Settings = readonly (readonly [name: string, value: Child])[];

/** What is set where, at senders that ask for more than a URL. */
const SENDERS: Readonly<Record<string, readonly [place: string, toSettings: typeof forGitHub]>> = {
  github: ["GitHub: Settings of the repository, Webhooks, Add webhook", forGitHub],
  stripe: ["Stripe: Developers, Webhooks, Add endpoint", forStripe],
};

/** For a system that signs its calls: what it is told about a webhook. */
export function SenderSettings({ webhook }: { webhook: Webhook }) {
  const { signature } = webhook;
  if (signature === null) return null;
  const sender = SENDERS[signature.scheme];
  const trouble = keyBesideSignature(webhook);
  const url = <CopiedLine text={senderUrl(webhook)} />;
  return (
    <div id="sender">
      <h2>Settings at the sender</h2>
      {trouble === null ? null : (
        <p class="trouble">
          {trouble} <a href="#access-key">To the key</a>
        </p>
      )}
      {sender === undefined ? url : <p class="soft">{sender[0]}</p>}
      {sender === undefined ? null : <Pairs of={sender[1](url, signature.secrets)} />}
    </div>
  );
}

/** Most senders take a redirect for a failure. */
function senderUrl({ url, default_mode }: Webhook): string {
  return default_mode === "async" ? url : `${url}?async`;
}

const EVENTS = "Those that the flow reads, and no more: each starts an execution.";

function forGitHub(url: Child, secrets: readonly string[]): Settings {
  return [
    ["Payload URL", url],
    ["Content type", <code>application/json</code>],
    ["Secret", <>The value of {linkTo(secrets)}.</>],
    ["Events", `${EVENTS} So does the ping that GitHub sends first.`],
  ];
}

function forStripe(url: Child, secrets: readonly string[]): Settings {
  return [
    ["Endpoint URL", url],
    ["Content type", "Nothing to set: Stripe sends JSON."],
    ["Events", EVENTS],
    ["Signing secret", <>Stripe makes it (whsec_...): it is the value of {linkTo(secrets)}.</>],
  ];
}

function linkTo(secrets: readonly string[]): Child {
  return (
    <>
      the secret <a href={pagePath("admin", "secrets")}>{secrets.join(" or ")}</a>
    </>
  );
}
