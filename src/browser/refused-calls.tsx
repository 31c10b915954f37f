import { read } from "./api.ts";
import { useLoaded } from "./loaded.ts";
import { NamedCell, Table, type Column } from "./table.tsx";
import { ExactTime } from "./time.tsx";

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

const COLUMNS: readonly Column<RefusedCall>[] = [
  ["At", ({ at }) => <ExactTime of={at} />],
  ["Status", ({ status }) => status],
  ["Reason", (refused) => <Reason refused={refused} />, "head"],
  ["From", ({ method, address }) => `${method} from ${address}`],
  ["Body", (refused) => <Body refused={refused} />],
];

/** The newest refused calls of a webhook; nothing where there are none. */
export function RefusedCalls({ webhook }: { webhook: string }) {
  const path = ["webhook", webhook, "refusal"];
  const [list] = useLoaded(() => read<{ items: readonly RefusedCall[] }>(path, { limit: "20" }));
  if (list === null || list.items.length === 0) return null;
  return (
    <>
      <h2>Last refused</h2>
      <p class="soft">Since the service started; nothing of them is recorded.</p>
      <Table caption="Refused calls" columns={COLUMNS} items={list.items} />
    </>
  );
}

function Reason({ refused: { reason, code } }: { refused: RefusedCall }) {
  return <NamedCell name={reason} note={ADVICE[reason] ?? ADVICE[code] ?? null} />;
}

function Body({ refused: { body_bytes, body_sha256 } }: { refused: RefusedCall }) {
  if (body_bytes === null) return <>not read</>;
  return <span title={`SHA-256 ${body_sha256 ?? "unknown"}`}>{body_bytes} bytes</span>;
}
