import type { Client, QueryResult } from "pg";
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
  /**
   * When each was given up, in milliseconds since the epoch, by the node that it was sent as: that may
   * have been given up since.
   */
  readonly #givenUp = new Map<string, Map<string, number>>();

  get size(): number {
    return this.#givenUp.size;
  }

  /** @param nodes that it was tried as */
  add(entries: readonly LedgerEntry[], nodes: ReadonlySet<string>): void {
    const ids = entries.flatMap(({ record }) => (record.kind === "begin" ? record.row.id : []));
    if (ids.length === 0) return;
    const at = now();
    for (const node of nodes) {
      const others = this.#givenUp.get(node) ?? [];
      this.#givenUp.set(node, new Map([...others, ...ids.map((id) => [id, at] as const)]));
    }
  }

  /**
   * Ends those that were recorded, before another node takes them. Two are left to wait: one that may
   * have taken the place of what waited, which was acknowledged, and has ended; and one that has a
   * claim, by which another node may have told whoever sent the same again that it is there.
   *
   * @param client of whose lane no earlier statement is under way any more
   */
  async settle(client: Client): Promise<void> {
    for (const [node, givenUp] of this.#givenUp) {
      await transact(client, () => settleBegun(client, node, givenUp));
      this.#givenUp.delete(node);
    }
  }
}

/**
 * Those that are as they were begun, or were started with that, which was handed to no thread. One
 * that has been started since was left to wait by a try whose answer was lost, and runs.
 */
const LOCK_BEGUN = `select execution.id from execution
  join unnest($1::bigint[], $2::text[], $3::bigint[]) as begun (key, id, given_up)
    on begun.key = execution.key and begun.id = execution.id
  where execution.node_id = $4 and execution.ended_at is null
    and (execution.status = 'PENDING' or execution.started_at <= begun.given_up)
  for update of execution`;

/** They are no node's: whichever has room takes them, as it does those of a lost one. */
const LEAVE = `update execution
  set node_id = null, status = 'PENDING', started_at = null
  where key = any($1::bigint[]) and id = any($2::text[])
    and (exists (select from execution_claim where execution_key = execution.key)
      or exists (select from webhook where webhook.id = execution.webhook_id
        and webhook.limits::jsonb ->> 'when_busy' = 'replace'))
  returning id`;

async function settleBegun(
  client: Client,
  node: string,
  givenUp: ReadonlyMap<string, number>,
): Promise<void> {
  const all = [...givenUp.keys()];
  const begun = idsOf(
    await client.query(LOCK_BEGUN, [all.map(requireKey), all, [...givenUp.values()], node]),
  );
  const left = new Set(idsOf(await client.query(LEAVE, [begun.map(requireKey), begun])));
  await endBegun(
    client,
    node,
    begun.filter((id) => !left.has(id)),
  );
}

function idsOf({ rows }: QueryResult<{ readonly id: string }>): string[] {
  return rows.map(({ id }) => id);
}

async function endBegun(client: Client, node: string, ids: readonly string[]): Promise<void> {
  const ended = { status: "ENDED_ERROR", ended_at: now(), output_value: null } as const;
  const status_message = "not started: the database was away when it was recorded";
  const rows = ids.map((id) => ({ id, ...ended, status_message, response: null }));
  await runBatch(client, toEndBatch(rows, node));
}
