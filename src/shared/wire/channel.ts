import { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import type { Seal, SealReader } from "./seal.ts";

/**
 * The channel between server and runner. It carries frames: four bytes with the length (big
 * endian), then the sender's token and a JSON array of messages.
 *
 * Not the runtime's own channel: what has no form ends the process that reads it there, and a
 * thread of the runner can write to any open file of its process. The token is known to the
 * runner's main thread alone, so that a thread cannot forge a message either.
 */

/** The file descriptor of the channel, in the runner. */
export const CHANNEL_FD = 3;

const HEAD = 4;
/** A frame that is larger was made by nobody here. */
const MAX_FRAME = 2 ** 28;
/** Messages share a frame up to this many characters. */
const FULL_FRAME = 2 ** 22;

export interface ChannelOptions {
  /** What the other side's frames begin with. */
  readonly expected: string;
  receive(message: unknown): void;
  /** What came is no frame of the other side's: nothing can be read any more. */
  onDamage(why: string): void;
  /** The other side was gone before these left: it has not seen them. */
  onUnsent?(messages: readonly unknown[]): void;
  /** Seals what is sent. */
  readonly seal?: Seal;
  /** Opens what the other side has sealed. */
  readonly opener?: SealReader;
}

/** Sends what is gathered in one turn of the event loop together. */
export class Channel<Message> {
  readonly #stream: Duplex;
  readonly #options: ChannelOptions;
  readonly #frames: FrameReader;
  #outbox: Message[] = [];
  #damaged = false;
  /** What the own frames begin with. */
  token = "";

  constructor(stream: Duplex, options: ChannelOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#frames = new FrameReader(options.expected);
    if (options.seal !== undefined) stream.write(options.seal.head);
    stream.on("data", (chunk: Buffer) => this.read(chunk));
  }

  send(message: Message): void {
    if (this.#outbox.push(message) === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const messages = this.#outbox;
    this.#outbox = [];
    if (!this.#stream.writable) return this.#options.onUnsent?.(messages);
    const { seal } = this.#options;
    for (const { frame, held } of gatherFrames(this.token, messages))
      this.#stream.write(seal === undefined ? frame : seal.seal(frame), (error) => {
        if (error) this.#options.onUnsent?.(held);
      });
  }

  /** What came, for who takes it from the stream into memory of its own. */
  read(chunk: Buffer): void {
    if (this.#damaged) return;
    const opened = this.#options.opener?.push(chunk) ?? chunk;
    for (const message of this.#parse(opened)) this.#options.receive(message);
  }

  #parse(chunk: Buffer): unknown[] {
    try {
      return this.#frames.push(chunk);
    } catch (error) {
      this.#damaged = true;
      this.#options.onDamage(error instanceof Error ? error.message : String(error));
      return [];
    }
  }
}

/** The frames of some messages. */
export function encodeFrames(token: string, messages: readonly unknown[]): Buffer[] {
  return gatherFrames(token, messages).map(({ frame }) => frame);
}

interface Frame<Message> {
  readonly frame: Buffer;
  readonly held: readonly Message[];
}

/**
 * The frames of some messages, each with the messages that it holds. Each is written by itself:
 * one text of all of them could be longer than a text can be.
 */
function gatherFrames<Message>(token: string, messages: readonly Message[]): Frame<Message>[] {
  const frames: Frame<Message>[] = [];
  let texts: string[] = [];
  let held: Message[] = [];
  let length = 0;
  const close = (): void => {
    if (held.length > 0) frames.push({ frame: toFrame(token, `[${texts.join(",")}]`), held });
    [texts, held, length] = [[], [], 0];
  };
  for (const message of messages) {
    const text = JSON.stringify(message);
    if (length + text.length > FULL_FRAME) close();
    length += text.length;
    texts.push(text);
    held.push(message);
  }
  close();
  return frames;
}

/** Stands where the length is written. */
const ROOM_FOR_HEAD = "\0".repeat(HEAD);

function toFrame(token: string, text: string): Buffer {
  const frame = Buffer.from(`${ROOM_FOR_HEAD}${token}${text}`);
  frame.writeUInt32BE(frame.length - HEAD, 0);
  return frame;
}

/** Puts frames together out of chunks. */
export class FrameReader {
  readonly #token: string;
  #chunks: Buffer[] = [];
  #size = 0;
  #needed = HEAD;

  /** @param token what the other side's frames begin with */
  constructor(token: string) {
    this.#token = token;
  }

  /**
   * The messages that a chunk completes.
   * @throws {Error} where it is no frame of the other side's; nothing can be read afterwards
   */
  push(chunk: Buffer): unknown[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#needed) return [];
    const all = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    const messages: unknown[] = [];
    let at = 0;
    for (let end = endOf(all, at); end !== null && end <= all.length; end = endOf(all, at)) {
      for (const message of this.#parse(all.toString("utf8", at + HEAD, end)))
        messages.push(message);
      at = end;
    }
    const rest = all.subarray(at);
    this.#chunks = [rest];
    this.#size = rest.length;
    this.#needed = endOf(rest, 0) ?? HEAD;
    return messages;
  }

  #parse(text: string): unknown[] {
    const messages: unknown = text.startsWith(this.#token)
      ? JSON.parse(text.slice(this.#token.length))
      : null;
    if (Array.isArray(messages)) return messages;
    throw new Error("A frame does not begin with the token of its sender");
  }
}

/** Where the frame at a position ends, null where its length is not there yet. */
function endOf(bytes: Buffer, at: number): number | null {
  if (bytes.length - at < HEAD) return null;
  const length = bytes.readUInt32BE(at);
  if (length > MAX_FRAME) throw new Error(`A frame claims ${length} bytes`);
  return at + HEAD + length;
}
