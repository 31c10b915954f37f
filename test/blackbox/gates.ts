import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { HUNG_MS } from "../hung.ts";

/**
 * The far end of the flow `gate`: it sees a flow arrive and lets it go on when told, so that a
 * scenario waits for events and never for time.
 */
export interface Gates extends AsyncDisposable {
  /** The query of a call that stops at the gate of this name. */
  query(name: string): string;
  /** Resolves when a flow has arrived at the gate. */
  arrived(name: string): Promise<void>;
  /** Lets the flow at the gate go on, now or when it arrives. */
  open(name: string): void;
  /** Resolves when the flow's connection has closed: it went on, or it was ended. */
  left(name: string): Promise<void>;
}

interface AuthenticationDeps {
  readonly arrival: PromiseWithResolvers<ServerResponse>;
  readonly departure: PromiseWithResolvers<void>;
}

export async function openGates(): Promise<Gates> {
  const gates = new Map<string, AuthenticationDeps>();
  function gate(name: string): AuthenticationDeps {
    const found = gates.get(name) ?? {
      arrival: Promise.withResolvers<ServerResponse>(),
      departure: Promise.withResolvers<void>(),
    };
    gates.set(name, found);
    return found;
  }
  const server = createServer((request, response) => {
    const { arrival, departure } = gate((request.url ?? "/").slice(1));
    response.once("close", () => departure.resolve());
    arrival.resolve(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    query: (name) => `gate=${encodeURIComponent(`http://127.0.0.1:${port}/${name}`)}`,
    arrived: async (name) => void (await within(name, gate(name).arrival.promise)),
    open: (name) => void gate(name).arrival.promise.then((response) => response.end(name)),
    left: (name) => within(name, gate(name).departure.promise),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function within<T>(name: string, event: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`Nothing happened at the gate "${name}" in time`));
    const timer = setTimeout(late, HUNG_MS);
    event.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
