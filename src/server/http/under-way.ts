import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that are being answered; each may start an execution. */
const MOST = 64;

type Handle = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** What one connection has sent and got no answer to. */
interface UnderWay {
  count: number;
  /** Behind those: nothing more is read meanwhile, and what was read brings some thousands at most. */
  readonly waiting: Parameters<Handle>[];
}

/**
 * Bounds the requests of one connection that are under way: a client may send on without reading
 * an answer (RFC 9112, section 9.3.2), and answers are kept in memory until it is their turn.
 */
export function boundUnderWay(handle: Handle): Handle {
  const connections = new WeakMap<Socket, UnderWay>();

  function onAnswered(this: ServerResponse): void {
    const { socket } = this.req;
    const own = connections.get(socket);
    if (own === undefined) return;
    own.count -= 1;
    const next = socket.destroyed ? undefined : own.waiting.shift();
    if (next === undefined) return;
    if (own.waiting.length === 0) socket.resume();
    start(own, ...next);
  }

  function start(own: UnderWay, incoming: IncomingMessage, outgoing: ServerResponse): void {
    own.count += 1;
    outgoing.on("prefinish", onAnswered);
    handle(incoming, outgoing);
  }

  function open(socket: Socket): UnderWay {
    const own: UnderWay = { count: 0, waiting: [] };
    connections.set(socket, own);
    // The server reads on at the end of each request, whoever has paused it.
    socket.on("resume", () => {
      if (own.waiting.length > 0) socket.pause();
    });
    return own;
  }

  return (incoming, outgoing) => {
    const { socket } = incoming;
    const own = connections.get(socket) ?? open(socket);
    if (own.count < MOST && own.waiting.length === 0) return start(own, incoming, outgoing);
    own.waiting.push([incoming, outgoing]);
    socket.pause();
  };
}
