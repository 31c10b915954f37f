import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** How long, and how much, a client may still send after its answer; milliseconds and bytes. */
const LINGER = { ms: 500, bytes: 4 * 1024 * 1024, pollMs: 25 };

/** The last on each that had its answer before its end. */
const unread = new WeakMap<Socket, IncomingMessage>();

/** Whether a request on it has its answer, and a body that has not come to its end. */
export function isLingering(socket: Socket): boolean {
  return unread.get(socket)?.complete === false;
}

/** For what happens before an answer ends. */
export function lingerUnread(this: ServerResponse): void {
  if (!this.req.complete) linger(this.req);
}

/**
 * Reads what a client still sends of a body that nobody wants: long enough that it sees its
 * answer, and not to the end of it, which may never come.
 */
function linger(incoming: IncomingMessage): void {
  const { socket } = incoming;
  const mostBytes = socket.bytesRead + LINGER.bytes;
  const until = performance.now() + LINGER.ms;
  const close = socket.destroySoon;
  // Closed at once, with bytes on their way to it, it would be reset before the answer is read.
  socket.destroySoon = () => void socket.end();
  unread.set(socket, incoming);
  incoming.resume();
  const timer = setInterval(() => {
    const isOver = socket.bytesRead > mostBytes || performance.now() > until;
    if (!incoming.complete && !socket.destroyed && !isOver) return;
    clearInterval(timer);
    socket.destroySoon = close;
    if (!incoming.complete) socket.destroy();
    else if (socket.writableEnded) socket.destroySoon();
  }, LINGER.pollMs);
}
