import type { Webhook } from "./resources.ts";
import { Badge } from "./status.tsx";

/** What a call must have, in a word each; none: the webhook is public. */
function needsOf(webhook: Webhook): readonly (readonly [word: string, sentence: string])[] {
  const { is_key_required, require_login, signature, allowed_addresses } = webhook;
  return [
    ...(is_key_required ? [["Key", "the key"] as const] : []),
    ...(require_login ? [["Login", "a login token"] as const] : []),
    ...(signature?.mode === "enforce" ? [["Signature", "a signature"] as const] : []),
    ...(allowed_addresses.length > 0 ? [["Addresses", "an address of the list"] as const] : []),
  ];
}

/** Who may call a webhook; one that is public stands out. */
export function CallerBadges({ webhook }: { webhook: Webhook }) {
  const needs = needsOf(webhook);
  return (
    <span class="badges">
      {needs.length === 0 ? (
        <Badge label="Public" state="busy" title="Anybody may call it" />
      ) : null}
      {needs.map(([word, sentence]) => (
        <Badge label={word} state="idle" title={`Callers need ${sentence}`} />
      ))}
    </span>
  );
}

/** The same in a sentence. */
export function whoMayCall(webhook: Webhook): string {
  if (!webhook.is_enabled) return "Disabled: the URL answers 404 to everybody.";
  const needs = needsOf(webhook).map(([, sentence]) => sentence);
  if (needs.length > 0) return `Private: callers need ${needs.join(" and ")}.`;
  return "Public: anybody who reaches the service can call it. The flow must not trust its input.";
}

/** The same before a change that leaves the webhook so; one that is disabled may be enabled later. */
export function whoMayCallThen(webhook: Webhook): string {
  const needs = needsOf(webhook).map(([, sentence]) => sentence);
  if (needs.length > 0) return `Callers then need ${needs.join(" and ")}.`;
  return "Anybody who reaches the service can then call it. The flow must not trust its input.";
}

/** What a call gets that does not say it itself, in a word and in a sentence. */
const MODES: Readonly<Record<Webhook["call_mode"], readonly [word: string, sentence: string]>> = {
  async: ["Async", "Answered at once with the execution's ID"],
  redirect: ["Sync, redirects", "Redirected (303, 302) until the result is there"],
  hold: ["Sync, held", "The request is held until the result is there"],
};

export function ModeOf({ webhook: { call_mode } }: { webhook: Webhook }) {
  const [word, sentence] = MODES[call_mode];
  return <span title={sentence}>{word}</span>;
}
