/** A call that was refused, for whoever has to mend it: never its body, never a secret. */
export interface RefusedCall {
  readonly at: number;
  readonly code: string;
  readonly reason: string;
  readonly status: number;
  readonly method: string;
  /** As in the request line, without the query. */
  readonly path: string;
  readonly address: string;
  readonly request_id: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the body that came; null where it was not read. */
  readonly body_bytes: number | null;
  readonly body_sha256: string | null;
}

/** The newest refused calls of each webhook, in memory. */
export interface Refusals {
  add(webhook_id: string, refused: RefusedCall): void;
  /** The newest first. */
  list(webhook_id: string): RefusedCall[];
}

const MOST_OF_WEBHOOK = 100;
const MOST = 10_000;

export function openRefusals(most = MOST): Refusals {
  /** All, the oldest first; a Map deletes from anywhere. */
  const all = new Map<number, string>();
  const byWebhook = new Map<string, Map<number, RefusedCall>>();
  let count = 0;

  function dropFirst(webhook_id: string): void {
    const own = byWebhook.get(webhook_id);
    const [first] = own?.keys() ?? [];
    if (own === undefined || first === undefined) return;
    own.delete(first);
    all.delete(first);
    if (own.size === 0) byWebhook.delete(webhook_id);
  }

  return {
    add(webhook_id, refused) {
      const own = byWebhook.get(webhook_id) ?? new Map<number, RefusedCall>();
      byWebhook.set(webhook_id, own);
      count += 1;
      own.set(count, refused);
      all.set(count, webhook_id);
      if (own.size > MOST_OF_WEBHOOK) dropFirst(webhook_id);
      // The oldest of all is the oldest of its webhook.
      if (all.size > most) dropFirst(all.values().next().value ?? "");
    },
    list: (webhook_id) => [...(byWebhook.get(webhook_id)?.values() ?? [])].toReversed(),
  };
}
