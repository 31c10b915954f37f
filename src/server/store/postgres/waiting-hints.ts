import type { Client } from "pg";
import { isDirect } from "./backend.ts";

/** How nodes tell each other at once that executions wait; a message that is lost costs time alone. */

const CHANNEL = "flowhook_waiting";

/**
 * In a transaction of its own, which waits for no disk: PostgreSQL commits those that notify one
 * after the other.
 *
 * @param node that tells
 */
export async function tellWaiting(client: Client, node: string): Promise<void> {
  await client.query({
    name: "tell-waiting",
    text: `select set_config('synchronous_commit', 'off', true), pg_notify('${CHANNEL}', $1)`,
    values: [node],
  });
}

/**
 * Nothing is heard through a pooler: there the connection to the server may be another client's by
 * then.
 *
 * @param onTold is given the node that told
 */
export async function listenForWaiting(
  client: Client,
  onTold: (node: string) => void,
): Promise<void> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  if (rows[0] === undefined || !isDirect(client, rows[0])) return;
  client.on("notification", ({ payload = "" }) => onTold(payload));
  await client.query(`listen ${CHANNEL}`);
}
