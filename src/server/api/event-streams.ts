import type { ServerResponse } from "node:http";
import type { Logins, Principal } from "../access/login.ts";
import { isAllowed } from "../access/permission.ts";
import type { Executions } from "../executions/executions.ts";
import { HEARTBEAT } from "../../shared/contract/event-stream.ts";
import { RequestError } from "../../shared/errors.ts";
import { readFor } from "../store/reading.ts";

/** Server-sent events (WHATWG HTML, section 9.2), to many who listen. */
export interface EventStreams {
  /**
   * Opens a stream, which ends with the service and with the login token of whoever listens.
   *
   * @param start begins to send; what it returns is called once at the end
   * @throws RequestError too_many_requests, overloaded
   */
  open(listener: Listener, start: (stream: EventStream) => () => void): StreamAnswer;
}

interface StreamAnswer {
  readonly status: 200;
  readonly stream: ReadableStream<Uint8Array>;
  readonly headers: Readonly<Record<string, string>>;
}

interface Listener {
  readonly principal: Principal;
  readonly outgoing: ServerResponse;
}

export interface EventStream {
  readonly principal: Principal;
  readonly isOpen: boolean;
  /** Bytes of whole events; many streams can share them. */
  send(bytes: Uint8Array): void;
  /** Resolves once all that was sent is taken, or the stream has ended. */
  drained(): Promise<void>;
  close(): void;
}

/**
 * Where so many bytes wait as more come, the reader is slow: it is dropped, and comes back. A hundred
 * events have 2.4 MB at most.
 */
const MOST_WAITING = 4 * 1024 * 1024;

/** Open streams: each costs a connection, and work at each change. */
const MOST_OF_USER = 5;
const MOST = 200;

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  // nginx gathers answers otherwise, and an event would wait for the next ones.
  "x-accel-buffering": "no",
};

const encoder = new TextEncoder();

/** The bytes of one event. */
export function toEvent(event: string, data: unknown, id?: string): Uint8Array {
  const number = id === undefined ? "" : `id: ${id}\n`;
  return encoder.encode(`${number}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

interface EventStreamsDeps {
  readonly logins: Pick<Logins, "renew">;
  readonly executions: Pick<Executions, "onStop">;
  /** Between two signs of life of a stream, in milliseconds. */
  readonly heartbeatMs: number;
}

export function openEventStreams(deps: EventStreamsDeps): EventStreams {
  const open = new OpenStreams();
  return {
    open(listener, start) {
      const { user_id } = listener.principal;
      open.requireRoom(user_id);
      let opened: Stream | null = null;
      const body = new ReadableStream<Uint8Array>(
        {
          start(controller) {
            const stream = new Stream(listener, controller);
            opened = stream;
            open.add(user_id);
            whenClosed(listener.outgoing, () => open.remove(user_id));
            // The log lines of a stream are none of the lists that its reader asks for.
            stream.onEnd(readFor(null, () => start(stream)));
            stream.onEnd(deps.executions.onStop(() => stream.close()));
            stream.onEnd(beat(deps, stream));
          },
          pull: () => opened?.taken(),
          cancel: () => opened?.end(),
        },
        { highWaterMark: 0, size: (bytes) => bytes.byteLength },
      );
      return { status: 200, stream: body, headers: HEADERS };
    },
  };
}

class Stream implements EventStream {
  readonly principal: Principal;
  readonly #outgoing: ServerResponse;
  readonly #controller: ReadableStreamDefaultController<Uint8Array>;
  readonly #atEnd: (() => void)[] = [];
  #drained: PromiseWithResolvers<void> | null = null;
  isOpen = true;

  constructor(
    { principal, outgoing }: Listener,
    controller: ReadableStreamDefaultController<Uint8Array>,
  ) {
    this.principal = principal;
    this.#outgoing = outgoing;
    this.#controller = controller;
    this.send(encoder.encode("retry: 2000\n\n"));
  }

  send(bytes: Uint8Array): void {
    if (!this.isOpen) return;
    if (this.#waiting <= MOST_WAITING) return this.#controller.enqueue(bytes);
    this.end();
    // Closed in order, it would keep what waits for as long as nobody reads it.
    this.#outgoing.destroy();
  }

  /** In bytes. */
  get #waiting(): number {
    return -(this.#controller.desiredSize ?? 0);
  }

  async drained(): Promise<void> {
    if (!this.isOpen || this.#waiting === 0) return;
    await (this.#drained ??= Promise.withResolvers()).promise;
  }

  /** Nothing waits any more, or nobody waits for that. */
  taken(): void {
    this.#drained?.resolve();
    this.#drained = null;
  }

  close(): void {
    if (!this.isOpen) return;
    this.end();
    this.#controller.close();
  }

  /** The client has gone, or is to go: nothing is sent any more. */
  end(): void {
    this.isOpen = false;
    this.taken();
    for (const act of this.#atEnd.splice(0)) act();
  }

  /** At once where it has ended. */
  onEnd(act: () => void): void {
    if (this.isOpen) this.#atEnd.push(act);
    else act();
  }
}

class OpenStreams {
  readonly #ofUser = new Map<string, number>();
  #count = 0;

  requireRoom(user_id: string): void {
    const headers = { "retry-after": "10" };
    if ((this.#ofUser.get(user_id) ?? 0) >= MOST_OF_USER)
      throw new RequestError(
        "too_many_requests",
        `You have ${MOST_OF_USER} event streams open already. Close one first`,
        { headers },
      );
    if (this.#count >= MOST)
      throw new RequestError(
        "overloaded",
        `${MOST} event streams are open already. Try again later`,
        {
          headers,
        },
      );
  }

  add(user_id: string): void {
    this.#count += 1;
    this.#ofUser.set(user_id, (this.#ofUser.get(user_id) ?? 0) + 1);
  }

  remove(user_id: string): void {
    this.#count -= 1;
    const left = (this.#ofUser.get(user_id) ?? 0) - 1;
    if (left > 0) this.#ofUser.set(user_id, left);
    else this.#ofUser.delete(user_id);
  }
}

/** Until then what was sent before the end may wait for its reader. */
function whenClosed(outgoing: ServerResponse, act: () => void): void {
  if (outgoing.closed) act();
  else outgoing.once("close", act);
}

/** @returns ends it */
function beat({ logins, heartbeatMs }: EventStreamsDeps, stream: EventStream): () => void {
  const timer = setInterval(() => {
    stream.send(toEvent(HEARTBEAT, null));
    renewOrClose(logins, stream).catch(() => stream.close());
  }, heartbeatMs);
  return () => clearInterval(timer);
}

/**
 * Whoever listens, with what they may now; null where nothing is to be sent to them any more.
 */
export async function renewOrClose(
  logins: Pick<Logins, "renew">,
  stream: EventStream,
): Promise<Principal | null> {
  const principal = await logins.renew(stream.principal).catch(() => null);
  if (principal !== null && isAllowed(principal.grants, "execution.read")) return principal;
  stream.close();
  return null;
}
