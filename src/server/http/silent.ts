import type { Server } from "node:http";
import type { Socket } from "node:net";
import { findAnswer } from "./unparsed-request.ts";

/**
 * Closes connections on which nothing moves: of a client that takes nothing of its answer for so
 * many milliseconds, and of one that keeps a connection longer than `keepAliveTimeout`, which the
 * runtime leaves to whoever listens for the former.
 */
export function closeSilent(server: Server, ms: number): void {
  server.setTimeout(ms, (socket: Socket) => {
    // With an answer to come, and nothing to send yet, it may be silent: its caller waits.
    if (socket.writableLength > 0 || findAnswer(socket) === null) socket.destroy();
  });
}
