import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { FrameReader, toFrame } from "./frames.ts";
import { SurelyUnsent } from "./surely-unsent.ts";
import type { Seal, SealReader } from "./seal.ts";

/**
 * The channel between server and runner: frames, each with a JSON array of messages.
 *
 * Not the runtime's own channel: what has no form ends the process that reads it there, and a
 * thread of the runner can write to any open file of its process. The token is known to the
 * runner's main thread alone, so that a thread cannot forge a message either.
 */

/** The file descriptor of the channel, in the runner. */
export const CHANNEL_FD = 3;

/** Messages share a frame up to this many characters. */
const FULL_FRAME = 2 ** 22;

export interface ChannelOptions {
  /** What the other side's frames begin with. */
  readonly expected: string;
  receive(message: unknown): void;
  /** What came is no frame of the other side's: nothing can be read any more. */
  onDamage(why: string): void;
  /** The other side was gone before these left: it has not got them. */
  onUnsent?(messages: readonly unknown[]): void;
  /** Seals what is sent. */
  readonly seal?: Seal;
  /** Opens what the other side has sealed. */
  readonly opener?: SealReader;
}

/** Sends what is gathered in one turn of the event loop together. */
export class Channel<Message> {
  readonly #options: ChannelOptions;
  readonly #frames: FrameReader;
  readonly #sent: SurelyUnsent;
  #outbox: Message[] = [];
  #damaged = false;
  /** What the own frames begin with. */
  token = "";

  constructor(stream: Duplex, options: ChannelOptions) {
    this.#options = options;
    this.#frames = new FrameReader(options.expected);
    this.#sent = new SurelyUnsent(stream);
    if (options.seal !== undefined) stream.write(options.seal.head);
    stream.on("data", (chunk: Buffer) => this.read(chunk));
  }

  send(message: Message): void {
    if (this.#outbox.push(message) === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const messages = this.#outbox;
    this.#outbox = [];
    const { seal, onUnsent } = this.#options;
    for (const { frame, held } of gatherFrames(this.token, messages))
      this.#sent.write(seal === undefined ? frame : seal.seal(frame), {
        unsent: () => onUnsent?.(held),
      });
  }

  /** What came, for who takes it from the stream into memory of its own. */
  read(chunk: Buffer): void {
    if (this.#damaged) return;
    const opened = this.#options.opener?.open(chunk) ?? chunk;
    for (const message of this.#parse(opened)) this.#options.receive(message);
  }

  #parse(chunk: Buffer): unknown[] {
    try {
      return this.#frames.complete(chunk).flatMap(toMessages);
    } catch (error) {
      this.#damaged = true;
      this.#options.onDamage(error instanceof Error ? error.message : String(error));
      return [];
    }
  }
}

export function toMessages(text: string): unknown[] {
  const messages: unknown = JSON.parse(text);
  if (Array.isArray(messages)) return messages;
  throw new Error("A frame holds something else than messages");
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
