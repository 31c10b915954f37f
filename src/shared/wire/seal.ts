import { createCipheriv, createDecipheriv, randomBytes, type Decipheriv } from "node:crypto";

/**
 * What the server sends to a runner is sealed: the threads of a runner share its descriptors, so
 * that a flow that got past the rules for modules could read the inputs of others there. The key
 * is sent before any thread exists, and stays with the runner's main thread. It hides and does
 * not prove: who takes bytes away makes the rest unreadable, which ends the runner.
 */

const CIPHER = "aes-256-ctr";
const KEY = 32;
const COUNTER = 16;

export interface Seal {
  /** The first bytes on the stream. */
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
  #head: Buffer = Buffer.alloc(0);
  #cipher: Decipheriv | null = null;

  /** What was sealed in a chunk, empty as long as the key is not whole. */
  push(chunk: Buffer): Buffer {
    if (this.#cipher !== null) return this.#cipher.update(chunk);
    this.#head = Buffer.concat([this.#head, chunk]);
    if (this.#head.length < KEY + COUNTER) return Buffer.alloc(0);
    const [key, counter] = [this.#head.subarray(0, KEY), this.#head.subarray(KEY, KEY + COUNTER)];
    this.#cipher = createDecipheriv(CIPHER, key, counter);
    return this.#cipher.update(this.#head.subarray(KEY + COUNTER));
  }
}
