import type { WebhookRow } from "../store/webhooks.ts";
import type { MatchedCall } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";
import { ASYNC } from "./target.ts";

/** How a call is answered: at once, or with the result (section 4.2). */
export interface Mode {
  readonly is_async: boolean;
  /** How long the caller wants to wait for the result first; null: as its mode says. */
  readonly waitMs: number | null;
  /** What was done of the header Prefer; null: nothing. */
  readonly applied: string | null;
}

const SYNC_MODE: Mode = { is_async: false, waitMs: null, applied: null };
const ASYNC_MODE: Mode = { is_async: true, waitMs: null, applied: null };

/** What a webhook and the configuration say of a call that waits for its result. */
export function syncModeOf(
  { sync_mode }: Pick<WebhookRow, "sync_mode">,
  configured: Configured,
): "redirect" | "hold" {
  return configured.responseMatrix === "earlier" ? "hold" : (sync_mode ?? configured.sync_mode);
}

/** What a call gets that does not say it itself; earlier releases knew no default. */
export function callModeOf(
  webhook: Pick<WebhookRow, "default_mode" | "sync_mode">,
  configured: Configured,
): "async" | "redirect" | "hold" {
  const isAsync = configured.responseMatrix !== "earlier" && webhook.default_mode === "async";
  return isAsync ? "async" : syncModeOf(webhook, configured);
}

type Configured = Pick<CallDeps, "sync_mode" | "responseMatrix">;

/** Without a word of the caller's, as the matrix of earlier releases knows it (section 4.6). */
export function earlierModeOf({ call }: MatchedCall): Mode {
  return isAsync(call.query.get(ASYNC) ?? "0") ? ASYNC_MODE : SYNC_MODE;
}

/** The query decides, then the header Prefer, then the webhook. */
export function modeOf({ call, webhook }: MatchedCall): Mode {
  const asked = call.query.get(ASYNC);
  const { prefer } = call.incoming.headers;
  if (prefer !== undefined) return preferredMode(String(prefer), asked, webhook.default_mode);
  const is_async = asked === null ? webhook.default_mode === "async" : isAsync(asked);
  return is_async ? ASYNC_MODE : SYNC_MODE;
}

/** Anything but `0`, also empty. */
function isAsync(value: string): boolean {
  return value !== "0";
}

function preferredMode(prefer: string, asked: string | null, usual: "sync" | "async"): Mode {
  const preferences = readPreferences(prefer);
  const waitSec = toSeconds(preferences.get("wait"));
  const wantsAsync = preferences.has("respond-async");
  if (asked !== null && isAsync(asked)) return ASYNC_MODE;
  const is_async = asked === null && (wantsAsync || (waitSec === null && usual === "async"));
  const applied = [
    ...(is_async && wantsAsync ? ["respond-async"] : []),
    ...(waitSec === null ? [] : [`wait=${waitSec}`]),
  ];
  return {
    is_async,
    waitMs: waitSec === null ? null : waitSec * 1000,
    applied: applied.length === 0 ? null : applied.join(", "),
  };
}

/** Longest wait that a caller can ask for, in seconds. */
const MOST_WAIT_SEC = 300;

/** What is no whole number within the range is no preference. */
function toSeconds(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,3}$/.test(text)) return null;
  const seconds = Number(text);
  return seconds >= 1 && seconds <= MOST_WAIT_SEC ? seconds : null;
}

/** Name and value of each preference (RFC 7240, section 2); the first of a name counts. */
function readPreferences(prefer: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const part of prefer.split(",")) {
    const [pair = ""] = part.split(";");
    const [name = "", value = ""] = pair.split(/=(.*)/s);
    const key = name.trim().toLowerCase();
    if (key !== "" && !found.has(key)) found.set(key, value.trim().replace(/^"(.*)"$/, "$1"));
  }
  return found;
}
