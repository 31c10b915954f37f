import type { IncomingMessage } from "node:http";
import { RequestError } from "../../shared/errors.ts";
import { askForBody } from "./expectation.ts";

/** The most that is read of a body. */
export interface BodyLimit {
  readonly bytes: number;
  /** What a refusal says of it, behind the number. */
  readonly what: string;
}

/** Reads bodies. All that have not come to their end together are bounded. */
export interface Bodies {
  /**
   * The bytes of a request up to a limit; the rest is left unread. Whoever reads it keeps the bytes:
   * asked again, there are none, or it is refused as before.
   *
   * @returns null without a body
   * @throws RequestError body_too_large, overloaded, body_too_slow, or bad_body where the client stopped
   * sending
   */
  read(incoming: IncomingMessage, limit: BodyLimit): Promise<Buffer | null>;
}

/** So much of each body is free, so that small ones come through while large ones fill the rest. */
const FREE = 16 * 1024;

/**
 * @param budget bytes of all unfinished bodies together, beyond what is free of each
 * @param clientOf whose body it is
 */
export function openBodies(
  budget: number,
  clientOf: (incoming: IncomingMessage) => string,
): Bodies {
  const underWay = new Held(budget);
  return {
    async read(incoming, limit) {
      const announced = Number(incoming.headers["content-length"] ?? Number.NaN);
      if (announced > limit.bytes) throw tooLarge(limit);
      if (announced === 0) return null;
      if (Number.isNaN(announced) && incoming.headers["transfer-encoding"] === undefined)
        return null;
      if (isRead(incoming)) return null;
      askForBody(incoming);
      const bytes = await collect(incoming, { limit, held: underWay, client: clientOf(incoming) });
      return bytes.length === 0 ? null : bytes;
    },
  };
}

/**
 * Tells who reads a body, now or later, that nothing more will come of it, and why.
 *
 * @returns whether somebody does now: that one answers
 */
export function refuseRest(incoming: ReadRequest, refused: RequestError): boolean {
  const reading = incoming[READING];
  if (reading === undefined) keepRefusal(incoming, refused);
  reading?.fail(refused);
  return reading !== undefined && reading !== null;
}

/** Lets go of a body that nobody reads, as it comes: small chunks that wait cost memory. */
export function discardBody(incoming: IncomingMessage): void {
  if (hasBody(incoming)) incoming.resume();
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** From which part of the budget on one client has no more than its share. */
const SHARED_FROM = 1 / 2;
const SHARE = 1 / 4;

/** What unfinished bodies hold, all of them and those of each client. */
class Held {
  readonly #budget: number;
  readonly #clients = new Map<string, number>();
  #bytes = 0;

  constructor(budget: number) {
    this.#budget = budget;
  }

  /** Takes or gives back bytes of a client. */
  change(client: string, bytes: number): void {
    this.#bytes += bytes;
    const own = (this.#clients.get(client) ?? 0) + bytes;
    if (own === 0) this.#clients.delete(client);
    else this.#clients.set(client, own);
  }

  isTooMuch(client: string): boolean {
    if (this.#bytes > this.#budget) return true;
    const own = this.#clients.get(client) ?? 0;
    return this.#bytes > this.#budget * SHARED_FROM && own > this.#budget * SHARE;
  }
}

/**
 * The least that comes of a body in each interval, once so much of it is held: who is silent is not
 * to hold memory. A small body may come over as slow a line as there is.
 */
const LEAST = { held: 64 * 1024, bytes: 100 * 1024, intervalMs: 10_000 };

const NOTHING = Buffer.alloc(0);

interface ReadRules {
  readonly limit: BodyLimit;
  readonly held: Held;
  readonly client: string;
}

/** Resolves with the bytes up to the end. */
function collect(incoming: ReadRequest, rules: ReadRules): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  incoming[READING] = new Reading(incoming, rules, resolve, reject);
  // They stay as long as the request, which may wait: to take them off would cost each call more.
  incoming.on("data", onData).on("end", onEnd).on("error", onStop).on("close", onStop);
  return promise;
}

const READING = Symbol("reading");
const REFUSED = Symbol("refused");

/** A request whose body is read, and was; null: it has been. */
interface ReadRequest extends IncomingMessage {
  [READING]?: Reading | null;
  [REFUSED]?: Pick<RequestError, "code" | "message" | "headers">;
}

/** Not the error: its stack would keep what was read of the body, as long as the request. */
function keepRefusal(incoming: ReadRequest, { code, message, headers }: RequestError): void {
  incoming[REFUSED] = { code, message, headers };
}

/**
 * Whether its end was seen. Neither that nor the end of a connection comes again: nobody is to wait
 * for it.
 *
 * @throws RequestError what its body was refused for
 */
function isRead(incoming: ReadRequest): boolean {
  const refused = incoming[REFUSED];
  if (refused !== undefined)
    throw new RequestError(refused.code, refused.message, { headers: { ...refused.headers } });
  if (incoming[READING] === null) return true;
  if (incoming.destroyed) throw stopped();
  return false;
}

function onData(this: ReadRequest, chunk: Buffer): void {
  this[READING]?.add(chunk);
}

function onEnd(this: ReadRequest): void {
  this[READING]?.end();
}

function onStop(this: ReadRequest): void {
  this[READING]?.fail(stopped());
}

export function stopped(): RequestError {
  return new RequestError("bad_body", "The client stopped before the end of the body");
}

/** A body that has not come to its end. */
class Reading {
  readonly #incoming: ReadRequest;
  readonly #rules: ReadRules;
  readonly #resolve: (bytes: Buffer) => void;
  readonly #reject: (error: RequestError) => void;
  #first: Buffer = NOTHING;
  #blocks: Blocks | null = null;
  #size = 0;
  #watch: NodeJS.Timeout | undefined;

  constructor(
    incoming: ReadRequest,
    rules: ReadRules,
    resolve: (bytes: Buffer) => void,
    reject: (error: RequestError) => void,
  ) {
    this.#incoming = incoming;
    this.#rules = rules;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  add(chunk: Buffer): void {
    const { limit, held, client } = this.#rules;
    this.#size += chunk.length;
    if (this.#size > FREE) held.change(client, Math.min(this.#size - FREE, chunk.length));
    if (this.#size > limit.bytes) return this.#refuse(tooLarge(limit));
    if (this.#size > FREE && held.isTooMuch(client)) return this.#refuse(overloaded());
    if (this.#size > LEAST.held)
      this.#watch ??= watchRate(
        () => this.#size,
        () => this.#refuse(tooSlow()),
      );
    if (this.#first === NOTHING) this.#first = chunk;
    else (this.#blocks ??= new Blocks(this.#first)).add(chunk);
  }

  end(): void {
    this.#settle();
    this.#resolve(this.#blocks === null ? this.#first : this.#blocks.join());
  }

  fail(error: RequestError): void {
    keepRefusal(this.#incoming, error);
    this.#settle();
    this.#reject(error);
  }

  /** The rest stays unread. */
  #refuse(error: RequestError): void {
    this.fail(error);
    this.#incoming.pause();
  }

  /** Nothing of a body is reached from a request that waits. */
  #settle(): void {
    this.#incoming[READING] = null;
    clearInterval(this.#watch);
    const { held, client } = this.#rules;
    if (this.#size > FREE) held.change(client, FREE - this.#size);
  }
}

/** Tells once what was received grows too little. */
function watchRate(received: () => number, onSlow: () => void): NodeJS.Timeout {
  let before = received();
  const timer = setInterval(() => {
    const now = received();
    if (now - before < LEAST.bytes) return onSlow();
    before = now;
  }, LEAST.intervalMs);
  return timer.unref();
}

/** Sizes of blocks in bytes: each as large as what came before it, within these. */
const LEAST_BLOCK = 1024;
const MOST_BLOCK = 1024 * 1024;

/** Bytes copied together as they come: a chunk of one byte costs hundreds as an object. */
class Blocks {
  readonly #full: Buffer[] = [];
  #open: Buffer;
  #used: number;
  #size: number;

  constructor(first: Buffer) {
    this.#open = first;
    this.#used = this.#size = first.length;
  }

  add(chunk: Buffer): void {
    this.#size += chunk.length;
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#used === this.#open.length) this.#openNext();
      const taken = rest.copy(this.#open, this.#used);
      this.#used += taken;
      rest = rest.subarray(taken);
    }
  }

  join(): Buffer {
    return Buffer.concat([...this.#full, this.#open], this.#size);
  }

  #openNext(): void {
    this.#full.push(this.#open);
    const size = Math.min(Math.max(this.#size, LEAST_BLOCK), MOST_BLOCK);
    this.#open = Buffer.allocUnsafeSlow(size);
    this.#used = 0;
  }
}

function tooLarge({ bytes, what }: BodyLimit): RequestError {
  // The rest is not read, so the connection cannot be used again.
  return new RequestError("body_too_large", `The body is larger than ${bytes} bytes${what}`, {
    headers: { connection: "close" },
  });
}

function overloaded(): RequestError {
  return new RequestError("overloaded", "Too many large bodies are under way. Try again later", {
    headers: { connection: "close", "retry-after": "5" },
  });
}

function tooSlow(): RequestError {
  const { bytes, intervalMs } = LEAST;
  const detail = `Less than ${bytes} bytes of the body came in ${intervalMs / 1000} s`;
  return new RequestError("body_too_slow", detail, { headers: { connection: "close" } });
}

/** A byte order mark stays: raw_body is the body as it was sent. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws RequestError bad_body where the bytes are not UTF-8 */
export function decodeText(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new RequestError("bad_body", "The body is not valid UTF-8");
  }
}
