import {
  Error,
  concatBytes,
  push,
  readUint32,
  slice,
  startsWith,
  subarray,
  toBytes,
  toUtf8,
  writeUint32,
} from "../intrinsics.ts";

/**
 * Frames on a stream: four bytes with the length (big endian), then the sender's token and a text.
 * The token is known to the sender alone, so that nobody else who can write to the stream can
 * forge a text.
 */

const HEAD = 4;
/** A frame that is larger was made by nobody here; bytes. */
export const MAX_FRAME = 2 ** 28;

/** Stands where the length is written. */
const ROOM_FOR_HEAD = "\0".repeat(HEAD);

export function toFrame(token: string, text: string): Buffer {
  const frame = toBytes(`${ROOM_FOR_HEAD}${token}${text}`);
  writeUint32(frame, frame.length - HEAD, 0);
  return frame;
}

/** A chunk has a cost beside its bytes, which no limit counts: smaller ones are made one. */
const SMALL = 2 ** 14;

/** Each byte is copied a few times at most: what is joined is no larger than what comes after it. */
function keep(chunks: Buffer[], chunk: Buffer): void {
  let last = chunk;
  for (let at = chunks.length - 1; at >= 0; at -= 1) {
    const before = chunks[at] as Buffer;
    if (before.length > SMALL || before.length > last.length) break;
    last = concatBytes([before, last]);
    chunks.length = at;
  }
  push(chunks, last);
}

/** Puts the texts of frames together out of chunks. */
export class FrameReader {
  readonly #token: string;
  readonly #most: number;
  #chunks: Buffer[] = [];
  #length = 0;
  #needed = HEAD;

  /**
   * @param token what the other side's frames begin with
   * @param most longest frame, in bytes
   */
  constructor(token: string, most = MAX_FRAME) {
    this.#token = token;
    this.#most = most;
  }

  /**
   * The texts that a chunk completes.
   * @throws {Error} where it is no frame of the other side's; nothing can be read afterwards
   */
  complete(chunk: Buffer): string[] {
    keep(this.#chunks, chunk);
    this.#length += chunk.length;
    if (this.#length < this.#needed) return [];
    const all = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : concatBytes(this.#chunks);
    const texts: string[] = [];
    let at = 0;
    for (let end = this.#endOf(all, at); end <= all.length; end = this.#endOf(all, at)) {
      push(texts, this.#open(toUtf8(all, "utf8", at + HEAD, end)));
      at = end;
    }
    const rest = subarray(all, at);
    this.#chunks = [rest];
    this.#length = rest.length;
    this.#needed = rest.length < HEAD ? HEAD : this.#endOf(rest, 0);
    return texts;
  }

  #open(text: string): string {
    if (startsWith(text, this.#token)) return slice(text, this.#token.length);
    throw new Error("A frame does not begin with the token of its sender");
  }

  /** Where the frame at a position ends; Infinity where its length is not there yet. */
  #endOf(bytes: Buffer, at: number): number {
    if (bytes.length - at < HEAD) return Infinity;
    const length = readUint32(bytes, at);
    if (length > this.#most) throw new Error(`A frame claims ${length} bytes`);
    return at + HEAD + length;
  }
}
