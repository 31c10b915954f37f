import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";

/**
 * Writes to a stream, and tells of what the other side surely has not got. Where a connection breaks,
 * all that still waits to be written fails, also what went with the same write and has arrived whole.
 * What was the only thing to be written has not, and so has nothing that came after it.
 */
export class SurelyUnsent {
  readonly #stream: Duplex;
  #isBroken = false;

  constructor(stream: Duplex) {
    this.#stream = stream;
  }

  /** @param left it is on its way @param unsent it has not arrived, and never will */
  write(bytes: Buffer, left: () => void, unsent: () => void): void {
    if (!this.#stream.writable) return unsent();
    const isOnly = this.#stream.writableLength === 0;
    this.#stream.write(bytes, (error) => {
      if (!error) return left();
      this.#isBroken ||= isOnly;
      if (this.#isBroken) unsent();
    });
  }
}
