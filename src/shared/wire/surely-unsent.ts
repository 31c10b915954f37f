import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";

/** What becomes of a write. */
interface WriteEvents {
  /** It is on its way. */
  left?(): void;
  /** It has not arrived, and never will. */
  unsent?(): void;
}

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

  write(bytes: Buffer, events: WriteEvents): void {
    if (!this.#stream.writable) return events.unsent?.();
    const isOnly = this.#stream.writableLength === 0;
    this.#stream.write(bytes, (error) => {
      if (!error) return events.left?.();
      this.#isBroken ||= isOnly;
      if (this.#isBroken) events.unsent?.();
    });
  }
}
