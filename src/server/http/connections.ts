import type { Server } from "node:http";
import type { Socket } from "node:net";
import { peerOf, type ProxyTrust } from "../access/client-address.ts";
import { networkOf } from "../access/network.ts";

/** Open at the same time; waiting callers hold one each. Further ones are closed at once. */
const MOST = 16_384;

/** From so many on, one client has no more than its share: nobody is to hold them all. */
const SHARED_FROM = MOST / 2;
const SHARE = MOST / 4;

/** From so many on, kept connections that wait for nothing are closed; looked at once a second. */
const CLOSING_FROM = (MOST / 4) * 3;
const CLOSING_MS = 1000;

const REFUSAL =
  "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n" +
  "Content-Length: 0\r\n\r\n";

/**
 * Keeps room for everybody while connections become scarce. Clients of one network count as one;
 * behind a trusted proxy there may be many.
 */
export function shareConnections(
  server: Server,
  { isTrusted, isTls }: { readonly isTrusted: ProxyTrust; readonly isTls: boolean },
): void {
  const held = new Map<string, number>();
  let count = 0;
  let closedAt = Number.NEGATIVE_INFINITY;
  server.maxConnections = MOST;

  function add(network: string, change: 1 | -1): void {
    count += change;
    const own = (held.get(network) ?? 0) + change;
    if (own === 0) held.delete(network);
    else held.set(network, own);
  }

  function closeIdle(): void {
    const at = performance.now();
    if (at - closedAt < CLOSING_MS) return;
    closedAt = at;
    server.closeIdleConnections();
  }

  server.prependListener("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    const network = networkOf(peer);
    add(network, 1);
    socket.on("close", () => add(network, -1));
    if (count > CLOSING_FROM) closeIdle();
    const isShareUsed = count > SHARED_FROM && (held.get(network) ?? 0) > SHARE;
    if (isShareUsed && !isTrusted(peer)) refuse(socket, isTls);
  });
}

/** No words before the handshake of TLS. */
function refuse(socket: Socket, isTls: boolean): void {
  if (!isTls) socket.write(REFUSAL);
  socket.destroySoon();
}
