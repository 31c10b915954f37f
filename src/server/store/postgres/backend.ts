import type { Client } from "pg";

/** A connection as the server knows it: process numbers come again. */
export interface Backend {
  readonly pid: number;
  readonly started_at: string;
}

const OWN = `select pid, backend_start::text as started_at from pg_stat_activity
  where pid = pg_backend_pid()`;

/** @returns null where the server does not tell */
export async function findOwn(client: Client): Promise<Backend | null> {
  const { rows } = await client.query<Backend>(OWN);
  return rows[0] ?? null;
}

/** Whether its connection to the server is its own: a pooler gives itself away by another number. */
export function isDirect(client: Client, { pid }: Pick<Backend, "pid">): boolean {
  return pid === (client as Client & { readonly processID: number }).processID;
}

/**
 * One that waits for the rest of a statement counts as active. Where `track_activities` is off the
 * server tells nothing, and nobody is to be ended for that.
 */
const WORKING = `select from pg_stat_activity where pid = $1 and backend_start::text = $2
  and (state = 'active' and wait_event is distinct from 'ClientRead' or state = 'disabled'
    or state_change > clock_timestamp() - $3::integer * interval '1 ms')`;

/**
 * Whether the server does something on a connection, or did a while ago.
 *
 * @param client another connection
 */
export async function isWorking(
  client: Client,
  { pid, started_at }: Backend,
  whileMs: number,
): Promise<boolean> {
  const { rowCount } = await client.query(WORKING, [pid, started_at, Math.ceil(whileMs)]);
  return rowCount !== 0;
}
