import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that wait; behind so many nothing more is read meanwhile. */
const MOST = 64;

type Handle = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** What one connection has sent and got no answer to. */
interface UnderWay {
  isAnswering: boolean;
  /** What was read before the pause brings some thousands at most. */
  readonly waiting: Parameters<Handle>[];
}

/**
 * Takes up the requests of one connection one by one: a client may send on without reading an answer
 * (RFC 9112, section 9.3.2), and answers are kept in memory until it is their turn. What comes behind
 * an answer that closes the connection gets none, and is not taken up (RFC 9112, section 9.6): its
 * client has to be able to send it again.
 */
export function takeUpInTurn(handle: Handle): Handle {
  const connections = new WeakMap<Socket, UnderWay>();

  /** The server's own listener came first: it has closed what is to be closed. */
  function onAnswered(this: ServerResponse): void {
    const { socket } = this.req;
    const own = connections.get(socket);
    if (own === undefined) return;
    own.isAnswering = false;
    if (!this.shouldKeepAlive || !socket.writable) own.waiting.length = 0;
    const next = own.waiting.shift();
    if (next === undefined) return;
    if (own.waiting.length === MOST - 1) socket.resume();
    start(own, ...next);
  }

  function start(own: UnderWay, incoming: IncomingMessage, outgoing: ServerResponse): void {
    own.isAnswering = true;
    outgoing.on("finish", onAnswered);
    handle(incoming, outgoing);
  }

  function open(socket: Socket): UnderWay {
    const own: UnderWay = { isAnswering: false, waiting: [] };
    connections.set(socket, own);
    // The server reads on at the end of each request, whoever has paused it.
    socket.on("resume", () => {
      if (own.waiting.length >= MOST) socket.pause();
    });
    return own;
  }

  return (incoming, outgoing) => {
    const { socket } = incoming;
    if (!socket.writable) return;
    const own = connections.get(socket) ?? open(socket);
    if (!own.isAnswering) return start(own, incoming, outgoing);
    own.waiting.push([incoming, outgoing]);
    if (own.waiting.length >= MOST) socket.pause();
  };
}
