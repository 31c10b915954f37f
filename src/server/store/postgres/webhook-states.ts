import type { Client } from "pg";
import type { WebhookLimits } from "../../../shared/contract/webhook-limits.ts";
import type { Startable } from "../node.ts";

/** How many executions of webhooks run and wait, over all nodes: their rows are all that is counted. */

/** By an expression that no other index has: one of all executions of a webhook would be read whole. */
const OF_WEBHOOK = "coalesce(execution.webhook_id, '') = webhook.id and ended_at is null";

const MOST = "(limits::jsonb ->> 'max_concurrent')::integer";

/** Ids of the webhooks of which no other execution may run. */
export const FULL_WEBHOOKS = `select id from webhook where limits is not null and ${MOST} <=
  (select count(*) from execution where ${OF_WEBHOOK} and status = 'RUNNING')`;

/** What another node has counts, whatever is written of it here: that changes nothing. */
const COUNTS = "(key <> all($2::bigint[]) or node_id is distinct from $3)";

/** Those that wait are counted where that matters. */
const STATE = `select webhook.id, limits, running, started_at, oldest, case
    when limits::jsonb ->> 'max_queued' is not null or limits::jsonb ->> 'when_busy' = 'refuse'
    then (select count(*) from execution
      where ${OF_WEBHOOK} and status = 'PENDING' and ${COUNTS})
    else 0 end as waiting
  from webhook,
    lateral (select count(*) as running, max(started_at) as started_at from execution
      where ${OF_WEBHOOK} and status = 'RUNNING' and ${COUNTS}) as running,
    lateral (select array(select execution.id from execution
      where ${OF_WEBHOOK} and status = 'PENDING' and ${COUNTS}
      order by key limit greatest(coalesce(${MOST}, 0) - running, 0)) as oldest) as oldest
  where webhook.id = any($1::text[]) and limits is not null`;

interface StateRow {
  readonly id: string;
  /** JSON text. */
  readonly limits: string;
  readonly running: number;
  readonly started_at: number | null;
  readonly waiting: number;
  /** As many of those that wait as more may run. */
  readonly oldest: readonly string[];
}

export interface WebhookState extends Omit<StateRow, "limits"> {
  readonly limits: WebhookLimits;
  /** How many more may run. */
  readonly free: number;
}

/** Executions of which something is written, and the node that does. */
export interface BeingWritten {
  readonly keys: readonly number[];
  readonly node: string | null;
}

/** @param written is not counted */
export async function readStates(
  client: Client,
  webhooks: readonly string[],
  written: BeingWritten,
): Promise<WebhookState[]> {
  const values = [webhooks, written.keys, written.node];
  const { rows } = await client.query<StateRow>({ name: "limits", text: STATE, values });
  return rows.map((row) => {
    const limits = JSON.parse(row.limits) as WebhookLimits;
    return { ...row, limits, free: Math.max(0, (limits.max_concurrent ?? Infinity) - row.running) };
  });
}

export async function listStartable(
  client: Client,
  webhooks: readonly string[],
): Promise<Startable[]> {
  const states = await readStates(client, webhooks, { keys: [], node: null });
  return states
    .filter(({ limits }) => limits.max_concurrent !== null)
    .map(({ id, free, started_at, oldest }) => ({
      webhook_id: id,
      free,
      startedAt: started_at,
      ids: oldest,
    }));
}
