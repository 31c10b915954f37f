import { fillHistory } from "./history.ts";
import { toBody, type Order } from "./load.ts";
import { startOnPostgres } from "./nodes.ts";
import { startNodeRed } from "./node-red.ts";
import { HELD, startFloor, startService, type Server } from "./server.ts";

/** Who is compared: each contestant is a server and the load on it. */

export interface Contestant {
  readonly server: string;
  readonly order?: Partial<Order>;
  /** Answered before it runs; the time until the last has run counts. */
  readonly isAsync?: true;
}

const HISTORY = 1_000_000;
const MANY = { connections: 128 };
const SINGLE = { connections: 1 };
const LARGE = { body: toBody(200) };

/** How each server is started; contestants may share one. */
export const SERVERS: Readonly<Record<string, () => Promise<Server>>> = {
  "floor-node": () => startFloor("floor-node"),
  "floor-http": () => startFloor("floor-http"),
  "floor-pool": () => startFloor("floor-pool"),
  hold: () => startService(HELD),
  "hold-normal": () => startService({ ...HELD, DURABILITY: "normal" }),
  redirect: () => startService({ SYNC_MODE: "redirect" }),
  async: () => startService({ MAX_QUEUED_EXECUTIONS: 1_000_000 }),
  history: startWithHistory,
  "node-red": startNodeRed,
  "hold-postgres": startOnPostgres,
};

/** In the order of a round. */
export const CONTESTANTS: Readonly<Record<string, Contestant>> = {
  "floor-node": { server: "floor-node" },
  "floor-http": { server: "floor-http" },
  "hold-normal": { server: "hold-normal" },
  "floor-pool": { server: "floor-pool" },
  hold: { server: "hold" },
  redirect: { server: "redirect", order: { isChain: true } },
  history: { server: "history" },
  "node-red": { server: "node-red" },
  async: { server: "async", order: { expected: null }, isAsync: true },
  "hold-128": { server: "hold", order: MANY },
  "floor-pool-128": { server: "floor-pool", order: MANY },
  "hold-1": { server: "hold", order: SINGLE },
  "floor-pool-1": { server: "floor-pool", order: SINGLE },
  "hold-normal-1": { server: "hold-normal", order: SINGLE },
  "floor-pool-200k": { server: "floor-pool", order: LARGE },
  "hold-200k": { server: "hold", order: LARGE },
  "hold-postgres": { server: "hold-postgres" },
};

async function startWithHistory(): Promise<Server> {
  // Older than anybody keeps them: none is deleted meanwhile.
  const server = await startService({ ...HELD, RETENTION_DAYS: 36_500 });
  fillHistory(server.folder as string, HISTORY);
  return server;
}
