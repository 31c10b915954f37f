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

/** The newest refused calls of each webhook. */
export interface Refusals {
  add(webhook_id: string, refused: RefusedCall): void;
  /** The newest first. @throws StoreError */
  list(webhook_id: string): Promise<RefusedCall[]>;
}

const MOST_OF_WEBHOOK = 100;
const MOST = 10_000;

/** A store that several services use: calls as JSON text. */
interface RefusalStore {
  addRefused(refused: { webhook_id: string; at: number; call: string }): void;
  /** The newest first. */
  listRefused(webhook_id: string, limit: number): Promise<string[]>;
}

/** Of all services that use the store. */
export function openSharedRefusals(store: RefusalStore): Refusals {
  return {
    add(webhook_id, refused) {
      store.addRefused({ webhook_id, at: refused.at, call: JSON.stringify(refused) });
    },
    async list(webhook_id) {
      const calls = await store.listRefused(webhook_id, MOST_OF_WEBHOOK);
      return calls.map((call) => JSON.parse(call) as RefusedCall);
    },
  };
}

/** In memory. */
export function openOwnRefusals(most = MOST): Refusals {
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
    list: async (webhook_id) => [...(byWebhook.get(webhook_id)?.values() ?? [])].toReversed(),
  };
}
