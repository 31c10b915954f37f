import type { Log } from "../../shared/log.ts";

/** What goes wrong again and again is told once, until it went well or is another fault. */
export class LastingFault {
  readonly #log: Log;
  readonly #message: string;
  #told: string | null = null;

  constructor(log: Log, message: string) {
    this.#log = log;
    this.#message = message;
  }

  /** @returns whether it went well */
  attempt(act: () => unknown): boolean {
    try {
      act();
      return true;
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#told) this.#log.error({ err: error }, this.#message);
      this.#told = message;
      return false;
    }
  }

  isOver(): void {
    this.#told = null;
  }
}
