import { randomUUID } from "node:crypto";
import type { Client, QueryResult } from "pg";
import { StartError } from "../../../shared/errors.ts";
import { requireKey } from "../execution-key.ts";
import type { ExecutionRow } from "../execution-row.ts";
import { COLUMNS } from "../executions.ts";
import { INTERRUPTED_COLUMNS, type Interrupted } from "../interrupted.ts";
import type { NodeFigures, Swept, Wanted } from "../node.ts";
import { INTERRUPTED } from "../unended.ts";
import { describePlace, LOCK_LIMIT, transact } from "./connection.ts";
import { FULL_WEBHOOKS } from "./webhook-states.ts";
import { CLOCK, NODES_LOCK, tryNodesLock } from "./locks.ts";
import type { Joined, Renewed, ThreadData } from "./thread-protocol.ts";

/** How long it counts that somebody waits on an execution, in milliseconds: it is told again before. */
const AWAITED_MS = 15_000;

/** Keys tell so many nodes apart; see shared/id.ts. */
const SLOTS = 64;

const RETURNED = INTERRUPTED_COLUMNS.map((name) => `execution.${name}`).join(", ");

/** This service among the nodes of the database: the only home of their leases. */
export class Membership {
  readonly #data: ThreadData;
  #id = randomUUID() as string;
  #hasJoined = false;
  /** When its lease was renewed last, by the clock of the database. */
  #renewedAt = 0;

  constructor(data: ThreadData) {
    this.#data = data;
  }

  /** What its executions are marked with; see `execution.node_id`. */
  get id(): string {
    return this.#id;
  }

  /**
   * Becomes a node. What the last start in this DATA_DIR left running ends as interrupted: its
   * folder's lock says that it is gone.
   *
   * @throws StartError where another node lives in a copy of its folder
   */
  async join(client: Client): Promise<Joined> {
    const id = randomUUID() as string;
    const joined = await transact(client, async () => {
      // A node that brings the tables up to date may take long; whoever else has locked one may not.
      await client.query(`set local lock_timeout = 0; ${NODES_LOCK}; set local ${LOCK_LIMIT}`);
      await this.#refuseCopy(client);
      const { folderId: last } = this.#data.node;
      const interrupted = await this.#endGone(client, "folder_id", last);
      const slot = await this.#takeSlot(client);
      const { name, version, folderId, folderPlace, leaseMs } = this.#data.node;
      await client.query(
        `insert into node (id, name, version, folder_id, folder_place, slot, state, running,
            waiting, started_at, lease_until)
          values ($1, $2, $3, $4, $5, $6, 'ready', 0, 0, ${CLOCK}, ${CLOCK} + $7::bigint)`,
        [id, name, version, folderId, folderPlace, slot, leaseMs],
      );
      const { rows } = await client.query<{ largest: number | null }>(
        "select max(key) as largest from execution",
      );
      return { id, slot, interrupted, largestKey: rows[0]?.largest ?? null };
    });
    // Last: where anything has failed it is none of the nodes, and the next renewal says so.
    this.#id = id;
    this.#hasJoined = true;
    return joined;
  }

  /** How many others live. @returns null: it is no node, or not yet, and its tables may not be there */
  async countOthers(client: Client): Promise<number | null> {
    if (!this.#hasJoined) return null;
    // In one message, which is one transaction: nobody else on this connection waits for a lock.
    const answers = await client.query(
      `set local lock_timeout = 100;
        select count(*) as others from node where id <> '${this.#id}' and lease_until > ${CLOCK}`,
    );
    const [, counted] = answers as unknown as QueryResult<{ others: number }>[];
    return counted?.rows[0]?.others ?? 0;
  }

  async renew(client: Client, { state, running, waiting }: NodeFigures): Promise<Renewed> {
    const { rows } = await client.query<{ renewed: number; at: number; others: number }>({
      name: "renew",
      text: `with renewed as (update node set state = $2, running = $3, waiting = $4,
            lease_until = ${CLOCK} + $5::bigint where id = $1 returning id)
          select (select count(*) from renewed) as renewed, ${CLOCK} as at,
            (select count(*) from node where id <> $1 and lease_until > ${CLOCK}) as others`,
      values: [this.#id, state, running, waiting, this.#data.node.leaseMs],
    });
    const { renewed = 0, at = 0, others = 0 } = rows[0] ?? {};
    if (renewed > 0) this.#renewedAt = at;
    return { isMember: renewed > 0, at, others };
  }

  /**
   * Ends what ran on nodes whose lease is over. What arrives late, after an outage of the database
   * or of the network, gives nobody up: others may not have been able to renew theirs either.
   *
   * @returns null: another node does so just now
   */
  async sweep(client: Client): Promise<Swept | null> {
    return transact(client, async () => {
      if (!(await tryNodesLock(client))) return null;
      const { rows } = await client.query<{ name: string }>(
        `delete from node where lease_until < ${CLOCK} and ${CLOCK} < $1 returning name`,
        [this.#renewedAt + Math.floor(this.#data.node.leaseMs / 3)],
      );
      await client.query(`delete from awaited where until_at < ${CLOCK}`);
      const { rows: interrupted } = await client.query<Interrupted>(
        `update execution set status = 'ENDED_ERROR', ended_at = ${CLOCK},
            status_message = 'interrupted: its node was lost'
          where status = 'RUNNING' and ended_at is null
            and not exists (select from node where node.id = execution.node_id)
          returning ${RETURNED}`,
      );
      return { nodes: rows.map(({ name }) => name), interrupted };
    });
  }

  /**
   * Tells the others that somebody waits on these executions here.
   *
   * @param left on which nobody does any more
   */
  async tellAwaited(
    client: Client,
    ids: readonly string[],
    left: readonly string[],
  ): Promise<void> {
    await client.query({
      name: "awaited",
      text: `with gone as (delete from awaited where node_id = $1 and execution_key = any($3::bigint[]))
        insert into awaited (execution_key, node_id, until_at)
        select key, $1, ${CLOCK} + ${AWAITED_MS} from unnest($2::bigint[]) as given (key)
        on conflict (execution_key, node_id) do update set until_at = excluded.until_at`,
      values: [this.#id, ids.map(requireKey), left.map(requireKey)],
    });
  }

  /** Whether a node that lives has said so: also one that stands still for a while. */
  async isAwaited(client: Client, id: string): Promise<boolean> {
    const { rowCount } = await client.query(
      `select from awaited join node on node.id = awaited.node_id
        where execution_key = $1 and node_id <> $2 and until_at > ${CLOCK}`,
      [requireKey(id), this.#id],
    );
    return (rowCount ?? 0) > 0;
  }

  /** Those of these executions that have ended, or are another node's. */
  async listLost(client: Client, ids: readonly string[]): Promise<string[]> {
    const { rows } = await client.query<{ id: string }>({
      name: "lost",
      text: `select id from execution where key = any($2::bigint[]) and id = any($3::text[])
        and (ended_at is not null or node_id is distinct from $1)`,
      values: [this.#id, ids.map(requireKey), ids],
    });
    return rows.map(({ id }) => id);
  }

  /** Flows of which executions wait elsewhere. */
  async listWaiting(client: Client): Promise<string[]> {
    const { rows } = await client.query<{ flow: string }>({
      name: "waiting",
      text: `select distinct flow from execution where status = 'PENDING' and ended_at is null
        and node_id is distinct from $1`,
      values: [this.#id],
    });
    return rows.map(({ flow }) => flow);
  }

  /**
   * Ends what waits on lost nodes, of flows that no node that lives has in its folder, or has taken
   * executions of: one may run what it has borrowed.
   */
  async endUnserved(client: Client, flows: readonly string[]): Promise<number> {
    const { rowCount } = await client.query(
      `update execution set status = 'ENDED_ERROR', ended_at = ${CLOCK},
          status_message = 'not started: no node has had its flow for 10 minutes'
        where status = 'PENDING' and ended_at is null and flow = any($1::text[])
          and not exists (select from node where node.id = execution.node_id)
          and not exists (select from node_flow join node on node.id = node_flow.node_id
            where node_flow.flow = execution.flow and node.lease_until > ${CLOCK})
          and not exists (select from execution as other join node on node.id = other.node_id
            where other.flow = execution.flow and other.ended_at is null
              and node.lease_until > ${CLOCK})`,
      [flows],
    );
    return rowCount ?? 0;
  }

  /** Takes executions that wait on nodes that are lost, or have waited on another for long. */
  async take(
    client: Client,
    { room, waitingSince, busyWebhooks }: Wanted,
  ): Promise<ExecutionRow[]> {
    const { rows } = await client.query<ExecutionRow>({
      name: "take",
      text: `with room as (select * from unnest($2::text[], $3::bigint[], $7::text[], $8::boolean[])
          as room (flow, count, version, is_fetching)),
        busy as (select array(select unnest($5::text[]) union all ${FULL_WEBHOOKS}) as webhooks),
        wanted as (select waiting.key from room, busy, lateral (
            select key from execution where execution.flow = room.flow and status = 'PENDING'
                and ended_at is null and node_id is distinct from $1
                and (created_at <= $4::bigint
                    and coalesce(webhook_id <> all(busy.webhooks), true)
                    and (coalesce(flow_version = room.version, true)
                      or room.is_fetching and exists (select from flow_version as stored
                        where stored.flow = execution.flow
                          and stored.version = execution.flow_version
                          and stored.flow || '@' || stored.version <> all($9::text[])))
                  or not exists (select from node where node.id = execution.node_id))
              order by key limit room.count for update skip locked) as waiting)
        update execution set node_id = $1, node = $6 from wanted where execution.key = wanted.key
          and exists (select from node where node.id = $1)
          returning ${COLUMNS.map((name) => `execution.${name}`).join(", ")}`,
      values: [
        this.#id,
        room.map(({ flow }) => flow),
        room.map(({ count }) => count),
        waitingSince,
        busyWebhooks,
        this.#data.node.name,
        room.map(({ version }) => version),
        room.map(({ isFetching }) => isFetching),
        room.flatMap(({ flow, broken }) => broken.map((version) => `${flow}@${version}`)),
      ],
    });
    return rows.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  }

  /** What its stop left running ends as interrupted. */
  leave(client: Client): Promise<Interrupted[]> {
    return this.#endGone(client, "id", this.#id);
  }

  /**
   * Two folders with one number: one is a copy of the other. Or the disk of a machine that was reset
   * has another number since, for which the folder is taken for another until the lease is over.
   */
  async #refuseCopy(client: Client): Promise<void> {
    const { folderId, folderPlace } = this.#data.node;
    const { rows } = await client.query<{ name: string }>(
      `select name from node
        where folder_id = $1 and folder_place <> $2 and lease_until > ${CLOCK}`,
      [folderId, folderPlace],
    );
    const [other] = rows;
    if (other === undefined) return;
    throw new StartError(
      `The node "${other.name}" of the ${describePlace(this.#data.url)} has the same ` +
        `DATA_DIR/node.id. If this folder is a copy of its folder, remove node.id here. If it is its ` +
        `folder, after a reset of the machine, a start goes well within ` +
        `${Math.ceil(this.#data.node.leaseMs / 1000)} s`,
    );
  }

  async #endGone(
    client: Client,
    column: "id" | "folder_id",
    value: string,
  ): Promise<Interrupted[]> {
    const { rows } = await client.query<Interrupted>(
      `with gone as (delete from node where ${column} = $1 returning id)
        update execution set status = 'ENDED_ERROR', ended_at = ${CLOCK},
            status_message = $2
          from gone where execution.node_id = gone.id and status = 'RUNNING' and ended_at is null
          returning ${RETURNED}`,
      [value, INTERRUPTED],
    );
    return rows;
  }

  async #takeSlot(client: Client): Promise<number> {
    const { rows } = await client.query<{ slot: number }>(
      `select slot from generate_series(0, ${SLOTS - 1}) as slot
        where not exists (select from node where node.slot = slot.slot) order by slot limit 1`,
    );
    const [free] = rows;
    if (free !== undefined) return Number(free.slot);
    throw new StartError(
      `The ${describePlace(this.#data.url)} has ${SLOTS} nodes, which is the most it can have`,
    );
  }
}
