import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { reset } from "../reset.ts";
import { send, type Origin } from "./client.ts";

/** One address for several nodes: each connection goes to the next one, its bytes untouched. */
export interface Balancer {
  readonly origin: Origin;
  /** Whether each connection from now on goes to the last node, and to no other. */
  pin(isPinned: boolean): void;
  close(): Promise<void>;
}

const HOST = "127.0.0.1";

/** @param checkMs asks each node so often whether it is ready; null: none is asked */
export async function openBalancer(
  origins: readonly Origin[],
  checkMs: number | null = null,
): Promise<Balancer> {
  const sockets = new Set<Socket>();
  const checks = checkMs === null ? null : openChecks(origins, checkMs);
  let turn = 0;
  let isPinned = false;
  function next(): Origin {
    const usable = checks === null ? origins : origins.filter((one) => checks.isUsable(one));
    return (isPinned ? origins.at(-1) : (usable[turn++ % usable.length] ?? origins[0])) as Origin;
  }
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const { host, port } = next();
    // Nodes see the caller's own address, as behind a balancer that is transparent.
    const localAddress = client.remoteAddress ?? HOST;
    const node = connect({ host, port, localAddress, allowHalfOpen: true, noDelay: true });
    for (const socket of [client, node]) {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    }
    join(client, node);
    join(node, client);
  });
  server.listen(0, HOST);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    origin: { host: HOST, port },
    pin(given) {
      isPinned = given;
    },
    async close() {
      if (!server.listening) return;
      checks?.[Symbol.dispose]();
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** A node that was not ready so often, one time after the other, is called no more. */
const MISSES = 2;

/** Readiness checks as those of HAProxy: `inter` is given, `fall 2`, `rise 1`. */
function openChecks(origins: readonly Origin[], everyMs: number) {
  const misses = new Map<Origin, number>();
  async function check(origin: Origin): Promise<void> {
    const call = { target: "/health/ready", signal: AbortSignal.timeout(everyMs) };
    const isReady = await send(origin, call).then(
      ({ status }) => status === 200,
      () => false,
    );
    misses.set(origin, isReady ? 0 : (misses.get(origin) ?? 0) + 1);
  }
  const timer = setInterval(() => void Promise.all(origins.map(check)), everyMs);
  return {
    isUsable: (origin: Origin) => (misses.get(origin) ?? 0) < MISSES,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** What one side sends, and how it ends: a half-close as such, and a reset as a reset. */
function join(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on("error", () => reset(to));
  from.once("close", () => {
    if (!from.readableEnded) to.destroy();
  });
}
