import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

/** An address that answers whoever comes only once it is opened. */
export interface Gate {
  readonly url: string;
  /** Resolves when somebody has come. */
  readonly arrived: Promise<unknown>;
  open(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openGate(): Promise<Gate> {
  const opened = Promise.withResolvers<void>();
  const server = createServer((_, outgoing) => void opened.promise.then(() => outgoing.end("in")));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrived: once(server, "request"),
    open: opened.resolve,
    async [Symbol.asyncDispose]() {
      opened.resolve();
      server.closeAllConnections();
      server.close();
    },
  };
}
