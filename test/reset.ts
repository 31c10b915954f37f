import type { Socket } from "node:net";

/**
 * Resets a connection. Where its end is under way Node.js cannot, and keeps the socket until the
 * process ends, and that from ending: it is closed then.
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
