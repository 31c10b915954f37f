import type { Client } from "pg";
import { findOwn, type Backend } from "./backend.ts";

/** A pooler may have given it to somebody else by now, or to this one. */
const LAST = `from pg_stat_activity where pid = $1 and backend_start::text = $2
  and pid <> pg_backend_pid() and application_name = current_setting('application_name')`;

/** What waits for standbys has committed: ended now, it would show what they do not have. */
const END = `select pg_terminate_backend(pid, 1000) ${LAST}
  and wait_event is distinct from 'SyncRep'`;

const IS_THERE = `select ${LAST}`;

/** SQLSTATE of who may not end a connection: what guards the statements has to do. */
const FORBIDDEN = "42501";

/**
 * The connection that was given up before this one. A network that swallowed what was sent there
 * may deliver it yet: ended at the server, it does nothing any more.
 */
export class Predecessor {
  #last: Backend | null = null;

  /** @throws {Error} where it goes on: this connection is not to be used */
  async endFor(client: Client): Promise<void> {
    if (this.#last !== null) await end(client, this.#last);
    this.#last = await findOwn(client);
  }
}

async function end(client: Client, { pid, started_at }: Backend): Promise<void> {
  const values = [pid, started_at];
  try {
    await client.query(END, values);
  } catch (error) {
    if ((error as { code?: unknown }).code === FORBIDDEN) return;
    throw error;
  }
  const { rowCount } = await client.query(IS_THERE, values);
  if (rowCount === 0) return;
  const message = "The last connection of this lane has not ended at the server yet";
  throw Object.assign(new Error(message), { code: "08006" });
}
