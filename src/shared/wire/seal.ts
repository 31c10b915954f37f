import { Buffer } from "node:buffer";
import { concatBytes, subarray, uncurry } from "../intrinsics.ts";

/**
 * What the server sends to a runner or to a thread of it is sealed: the threads of a runner share
 * its descriptors, so that a flow that got past the rules for modules could read the inputs of
 * others there. The key of a runner is sent before any thread exists, and stays with the runner's
 * main thread; that of a thread comes by way of its runner. A seal hides and does not prove: who
 * takes bytes away makes the rest unreadable, which ends the runner or the thread.
 */

/**
 * Not imported, which a thread's program does for all of its modules at once: a thread that only
 * inspects needs none.
 */
const { createCipheriv, createDecipheriv, randomBytes } = process.getBuiltinModule("node:crypto");

const CIPHER = "aes-256-ctr";
const KEY = 32;
const COUNTER = 16;

const NOTHING: Buffer = Buffer.alloc(0);

type Decipher = ReturnType<typeof newDecipher>;

const decrypt = uncurry<Decipher, [Buffer], Buffer>(
  newDecipher(Buffer.alloc(KEY + COUNTER)).update,
);

export interface Seal {
  /** Key and first counter: what the other side needs to know. */
  readonly head: Buffer;
  /** Seals the next bytes on the stream. */
  seal(bytes: Buffer): Buffer;
}

export function openSeal(): Seal {
  const head = randomBytes(KEY + COUNTER);
  const cipher = createCipheriv(CIPHER, head.subarray(0, KEY), head.subarray(KEY));
  return { head, seal: (bytes) => cipher.update(bytes) };
}

/** Reads a sealed stream from its first byte on. */
export class SealReader {
  #head: Buffer = NOTHING;
  #decipher: Decipher | null = null;

  /** @param head of the seal; without one the stream begins with it */
  constructor(head?: Buffer) {
    if (head !== undefined) this.#decipher = newDecipher(head);
  }

  /** What was sealed in a chunk, empty as long as the key is not whole. */
  open(chunk: Buffer): Buffer {
    if (this.#decipher !== null) return decrypt(this.#decipher, chunk);
    this.#head = concatBytes([this.#head, chunk]);
    if (this.#head.length < KEY + COUNTER) return subarray(this.#head, 0, 0);
    this.#decipher = newDecipher(this.#head);
    return decrypt(this.#decipher, subarray(this.#head, KEY + COUNTER));
  }
}

function newDecipher(head: Buffer) {
  return createDecipheriv(CIPHER, head.subarray(0, KEY), head.subarray(KEY, KEY + COUNTER));
}
