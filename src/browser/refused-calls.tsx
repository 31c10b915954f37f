import type { RefusedCall, RefusedCalls as Refused } from "../shared/contract/refused-call.ts";
import { read } from "./api.ts";
import { useLoaded, useRefresh } from "./loaded.ts";
import { Empty, NamedCell, Pairs, Table, type Column } from "./table.tsx";
import { ExactTime } from "./time.tsx";
import { Said } from "./said.tsx";

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

const COLUMNS: readonly Column<RefusedCall>[] = [
  ["At", ({ at }) => <ExactTime of={at} />],
  ["Status", ({ status }) => status],
  ["Reason", (refused) => <Reason refused={refused} />, "head"],
  ["Request", (refused) => <Request refused={refused} />, "wide"],
  ["From", ({ address }) => address, "wide address"],
  ["Body", (refused) => <Body refused={refused} />, "wide"],
];

/** The newest calls of a webhook that started nothing, and why. */
export function RefusedCalls({ webhook, isOpen }: { webhook: string; isOpen: boolean }) {
  const path = ["webhook", webhook, "refusal"];
  const [list, reload] = useLoaded(() => read<Refused>(path, { limit: "50" }));
  useRefresh(reload, isOpen);
  if (list === null) return null;
  if (list.items.length === 0)
    return (
      <Empty title="No call was refused">
        What is refused starts no execution. The newest calls of this kind are kept here until the
        service is started again.
      </Empty>
    );
  return (
    <>
      <p class="soft">The newest since the service started. Their bodies are not kept.</p>
      <Table
        caption="Refused calls"
        columns={COLUMNS}
        items={list.items}
        rowOf={({ request_id }) => ({ id: request_id })}
      />
    </>
  );
}

/** On a phone with the request below it, where there is no column for that. */
function Reason({ refused }: { refused: RefusedCall }) {
  const { reason, code } = refused;
  return (
    <>
      <NamedCell name={reason} note={ADVICE[reason] ?? ADVICE[code] ?? null} />
      <div class="phone">
        <Request refused={refused} />
        <Body refused={refused} />
      </div>
    </>
  );
}

function Request({ refused: { method, path, headers } }: { refused: RefusedCall }) {
  return (
    <details>
      <summary>
        {method}{" "}
        <code>
          <Said text={path} isCode />
        </code>
      </summary>
      <Pairs of={Object.entries(headers)} />
    </details>
  );
}

function Body({ refused: { body_bytes, body_sha256 } }: { refused: RefusedCall }) {
  if (body_bytes === null) return <>not read</>;
  return <span title={`SHA-256 ${body_sha256 ?? "unknown"}`}>{body_bytes} bytes</span>;
}
