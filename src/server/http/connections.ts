import type { Server } from "node:http";
import type { Socket } from "node:net";
import { peerOf, type ProxyTrust } from "../access/client-address.ts";
import { networkOf } from "../access/network.ts";
import type { Log } from "../../shared/log.ts";
import { openRareLine } from "../../shared/rare-line.ts";

/** Open at the same time; waiting callers hold one each. Further ones are closed at once. */
const MOST = 16_384;

/** Files that are no connections: of the store, of runners and of the lines to their threads. */
const OWN_FILES = 256;

/**
 * How many connections may be open at once: however many callers there are, runners are started and
 * the store opens its files.
 *
 * @param files that the process may have open; null where the system does not tell
 */
export function mostConnections(files: number | null): number {
  if (files === null) return MOST;
  const own = Math.min(files / 2, Math.max(files / 4, OWN_FILES));
  return Math.min(MOST, Math.floor(files - own));
}

/** Fewer are the limit of no usual system, and too few for a service with several callers. */
const LEAST_FILES = 1024;

/** @returns a warning where the service may have too few files open; what to do stands at its end */
export function warnOfFiles(files: number | null): string[] {
  if (files === null || files >= LEAST_FILES) return [];
  return [
    `This process may have ${files} files and sockets open, which leaves ` +
      `${mostConnections(files)} for callers; expected at least ${LEAST_FILES}. Raise it: ` +
      "ulimit -n, LimitNOFILE of a unit, --ulimit nofile of a container",
  ];
}

/** Idle kept connections are closed at most once in so many milliseconds. */
const CLOSING_MS = 1000;

const REFUSAL =
  "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n" +
  "Content-Length: 0\r\n\r\n";

export interface ConnectionOptions {
  /** Open at the same time. */
  readonly most: number;
  readonly isTrusted: ProxyTrust;
  readonly isTls: boolean;
  readonly log: Log;
}

/** What is open, whether it has become a connection of HTTP or is within its handshake of TLS. */
export interface OpenConnections {
  close(): void;
}

/**
 * Keeps room for everybody while connections become scarce. Clients of one network count as one;
 * behind a trusted proxy there may be many.
 */
export function shareConnections(
  server: Server,
  { most, isTrusted, isTls, log }: ConnectionOptions,
): OpenConnections {
  // From so many on, one client has no more than its share: nobody is to hold them all.
  const sharedFrom = most / 2;
  const share = most / 4;
  // From so many on, kept connections that wait for nothing are closed.
  const closingFrom = (most / 4) * 3;
  const held = new Map<string, number>();
  const open = new Set<Socket>();
  let closedAt = Number.NEGATIVE_INFINITY;
  server.maxConnections = most;

  function add(network: string, change: 1 | -1): void {
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
    open.add(socket);
    add(network, 1);
    socket.on("close", () => {
      open.delete(socket);
      add(network, -1);
    });
    if (open.size > closingFrom) closeIdle();
    const isShareUsed = open.size > sharedFrom && (held.get(network) ?? 0) > share;
    if (isShareUsed && !isTrusted(peer)) refuse(socket, isTls);
  });
  const warn = openRareLine(log, "warn");
  const message = `${most} connections are open, as many as may be: another one was closed`;
  server.on("drop", () => warn({}, message));
  return {
    close() {
      for (const socket of open) socket.destroy();
    },
  };
}

/** No words before the handshake of TLS. */
function refuse(socket: Socket, isTls: boolean): void {
  if (!isTls) socket.write(REFUSAL);
  socket.destroySoon();
}
