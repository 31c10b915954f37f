import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { Origin } from "./client.ts";

/** One address for several nodes: each connection goes to the next one, its bytes untouched. */
export interface Balancer {
  readonly origin: Origin;
  /** Whether each connection from now on goes to the last node, and to no other. */
  pin(isPinned: boolean): void;
  close(): Promise<void>;
}

const HOST = "127.0.0.1";

export async function openBalancer(origins: readonly Origin[]): Promise<Balancer> {
  const sockets = new Set<Socket>();
  let turn = 0;
  let isPinned = false;
  const next = () => (isPinned ? origins.at(-1) : origins[turn++ % origins.length]) as Origin;
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
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** What one side sends, and how it ends: a half-close as such, and a reset as a reset. */
function join(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on("error", () => to.resetAndDestroy());
  from.once("close", () => {
    if (!from.readableEnded) to.destroy();
  });
}
