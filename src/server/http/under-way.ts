import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that wait; behind so many nothing more is read meanwhile. */
const MOST = 64;

type Handle = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** What one connection has sent and got no answer to. */
interface UnderWay {
  answering: IncomingMessage | null;
  /** How many requests were read. */
  read: number;
  /** When the last of those that waited was taken up. */
  tookLastAt: number;
  /** What was read before the pause brings some thousands at most. */
  readonly waiting: Parameters<Handle>[];
}

/** How requests are taken up. */
export interface Turns {
  readonly take: Handle;
  /** From now on each answer that begins closes its connection. */
  closeAfterAnswers(): void;
}

const connections = new WeakMap<Socket, UnderWay>();

/** Whether requests wait on a connection, or did within so many milliseconds: it may not be read. */
export function isHeldBack(socket: Socket, ms: number): boolean {
  const own = connections.get(socket);
  if (own === undefined) return false;
  return own.waiting.length > 0 || performance.now() - own.tookLastAt < ms;
}

/** Tells, later, whether the request that is half read now still is. */
export function watchHalf(socket: Socket): () => boolean {
  const own = connections.get(socket);
  const read = own?.read;
  const last = own?.waiting.at(-1)?.[0] ?? own?.answering;
  const isBody = last?.complete === false;
  return () => !socket.destroyed && own?.read === read && (last?.complete === false) === isBody;
}

/**
 * Takes up the requests of one connection one by one: a client may send on without reading an answer
 * (RFC 9112, section 9.3.2), and answers are kept in memory until it is their turn. What comes behind
 * an answer that closes the connection gets none, and is not taken up (RFC 9112, section 9.6): its
 * client has to be able to send it again.
 */
export function takeUpInTurn(handle: Handle): Turns {
  let isClosing = false;

  /** The server's own listener came first: it has closed what is to be closed. */
  function onAnswered(this: ServerResponse): void {
    const { socket } = this.req;
    const own = connections.get(socket);
    if (own === undefined) return;
    own.answering = null;
    if (!this.shouldKeepAlive || !socket.writable) own.waiting.length = 0;
    const next = own.waiting.shift();
    if (next === undefined) return;
    if (own.waiting.length === 0) own.tookLastAt = performance.now();
    if (own.waiting.length === MOST - 1) socket.resume();
    start(own, ...next);
  }

  function start(own: UnderWay, incoming: IncomingMessage, outgoing: ServerResponse): void {
    own.answering = incoming;
    if (isClosing) outgoing.shouldKeepAlive = false;
    outgoing.on("finish", onAnswered);
    handle(incoming, outgoing);
  }

  function open(socket: Socket): UnderWay {
    const own: UnderWay = { answering: null, read: 0, tookLastAt: -Infinity, waiting: [] };
    connections.set(socket, own);
    // The server reads on at the end of each request, whoever has paused it.
    socket.on("resume", () => {
      if (own.waiting.length >= MOST) socket.pause();
    });
    return own;
  }

  function take(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { socket } = incoming;
    if (!socket.writable) return;
    const own = connections.get(socket) ?? open(socket);
    own.read += 1;
    if (own.answering === null) return start(own, incoming, outgoing);
    own.waiting.push([incoming, outgoing]);
    if (own.waiting.length >= MOST) socket.pause();
  }

  return { take, closeAfterAnswers: () => void (isClosing = true) };
}
