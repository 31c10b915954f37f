import type { Client } from "pg";
import { now } from "../../../shared/clock.ts";
import { requireKey } from "../execution-key.ts";
import type { LedgerEntry } from "../ledger-record.ts";
import { runBatch } from "./batch.ts";
import { toEndBatch } from "./batches.ts";
import { transact } from "./connection.ts";

/**
 * Executions whose begin was sent and not answered, and whose callers were told that they were not
 * recorded. Some are in the tables all the same.
 */
export class UnknownBegins {
  /** Ids by the node that they were sent as: it may have been given up since. */
  readonly #ids = new Map<string, Set<string>>();

  get size(): number {
    return this.#ids.size;
  }

  /** @param nodes that it was tried as */
  add(entries: readonly LedgerEntry[], nodes: ReadonlySet<string>): void {
    const ids = entries.flatMap(({ record }) => (record.kind === "begin" ? record.row.id : []));
    if (ids.length === 0) return;
    for (const node of nodes)
      this.#ids.set(node, new Set([...(this.#ids.get(node) ?? []), ...ids]));
  }

  /**
   * Ends those that were recorded, before another node takes them. Whoever sends the same again
   * starts it anew: their claims are free. One that may have taken the place of what waited is left
   * to wait: what it replaced was acknowledged, and has ended.
   *
   * @param client of whose lane no earlier statement is under way any more
   */
  async settle(client: Client): Promise<void> {
    for (const [node, ids] of this.#ids) {
      await transact(client, () => endBegun(client, node, [...ids]));
      this.#ids.delete(node);
    }
  }
}

/**
 * They are no node's: whichever has room takes them, as it does those of a lost one. What was started
 * with its begin was handed to no thread.
 */
const LEAVE_REPLACING = `update execution
  set node_id = null, status = 'PENDING', started_at = null from webhook
  where execution.key = any($1::bigint[]) and execution.id = any($2::text[])
    and execution.node_id = $3 and execution.ended_at is null
    and webhook.id = execution.webhook_id and webhook.limits::jsonb ->> 'when_busy' = 'replace'`;

async function endBegun(client: Client, node: string, ids: readonly string[]): Promise<void> {
  const ended = { status: "ENDED_ERROR", ended_at: now(), output_value: null } as const;
  const status_message = "not started: the database was away when it was recorded";
  const rows = ids.map((id) => ({ id, ...ended, status_message, response: null }));
  const keys = ids.map(requireKey);
  await client.query(LEAVE_REPLACING, [keys, ids, node]);
  await runBatch(client, toEndBatch(rows, node));
  await client.query(
    `delete from execution_claim using execution
      where execution_claim.execution_key = any($1::bigint[])
        and execution.key = execution_claim.execution_key and execution.id = any($2::text[])
        and execution.status_message = $3`,
    [keys, ids, status_message],
  );
}
