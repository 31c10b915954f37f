import { read } from "./api.ts";
import { el } from "./element.ts";
import { exactTime } from "./format.ts";

interface RefusedCall {
  readonly at: string;
  readonly code: string;
  readonly reason: string;
  readonly status: number;
  readonly method: string;
  readonly address: string;
  readonly body_bytes: number | null;
  readonly body_sha256: string | null;
}

/** What to do about a reason or a code. */
const ADVICE: Readonly<Record<string, string>> = {
  signature_missing: "The sender does not sign, or a proxy takes the header away.",
  signature_wrong:
    "The secret is another one than the sender has, or a proxy changes the body: compare its SHA-256.",
  timestamp_missing: "The header with the time is missing.",
  timestamp_outside: "The clock here or at the sender is wrong, or the call is an old one again.",
  secret_unusable: "The secret is gone or cannot be decoded: set it again.",
  leg_signature_wrong: "The result is asked for without the Location of the first answer.",
  not_found: "Enable the webhook.",
  no_active_user: "The webhook is in development mode: set Is productive.",
  unsupported_type: "The sender has to send JSON, YAML or a form, and say so in Content-Type.",
  queue_full: "More calls come than the flows can take.",
};

/** The newest refused calls of a webhook; nothing where there are none. */
export async function showRefused(place: HTMLElement, webhook: string): Promise<void> {
  const path = ["webhook", webhook, "refusal"];
  const { items } = await read<{ items: readonly RefusedCall[] }>(path, { limit: "20" });
  if (items.length === 0) return place.replaceChildren();
  const titles = ["At", "Status", "Reason", "From", "Body"];
  place.replaceChildren(
    el("h2", {}, "Last refused"),
    el("p", { class: "soft" }, "Since the service started; nothing of them is recorded."),
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ...titles.map((title) => el("th", { scope: "col" }, title)))),
      el("tbody", {}, ...items.map(toRow)),
    ),
  );
}

function toRow(refused: RefusedCall): HTMLElement {
  const { at, status, code, reason, address, method, body_bytes, body_sha256 } = refused;
  const advice = ADVICE[reason] ?? ADVICE[code];
  const body = body_bytes === null ? "not read" : `${body_bytes} bytes`;
  return el(
    "tr",
    {},
    el("td", {}, exactTime(at)),
    el("td", {}, String(status)),
    el("td", {}, reason, advice === undefined ? null : el("p", { class: "soft" }, advice)),
    el("td", {}, `${method} from ${address}`),
    el("td", { title: body_sha256 === null ? null : `SHA-256 ${body_sha256}` }, body),
  );
}
