import * as js from "../shared/intrinsics.ts";

/**
 * Errors of one kind that the thread's own program throws: known without asking for their class, which
 * a proxy that a flow throws may refuse, and a flow may define for all errors.
 */
export class OwnErrors {
  readonly #marked = new js.WeakSet<object>();

  /** @returns the error */
  mark(error: Error): Error {
    js.weakSetAdd(this.#marked, error);
    return error;
  }

  holds(thrown: unknown): thrown is Error {
    return typeof thrown === "object" && thrown !== null && js.weakSetHas(this.#marked, thrown);
  }
}
