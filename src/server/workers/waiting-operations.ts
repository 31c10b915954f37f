import { MAX_WAITING_BYTES, type OperationRequest } from "../../shared/wire/protocol.ts";

/** Operations that wait for their answer; a thread's own program asks for fewer. */
const MOST_WAITING = 1_000;

/** A thread that is refused more often is not its program. */
const MOST_REFUSED = 1_000;

/** The operations of one thread that wait for their answer. */
export class WaitingOperations {
  /** Lengths of their values, in characters. */
  readonly #lengths = new Map<number, number>();
  readonly #longest: number;
  #length = 0;
  #refused = 0;

  /** @param longest value, in characters */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** @returns why it is refused; null: it waits */
  add(number: number, { value, name }: OperationRequest): string | null {
    const { length } = value ?? name;
    const why = this.#refuse(number, length);
    if (why !== null) this.#refused += 1;
    else {
      this.#lengths.set(number, length);
      this.#length += length;
    }
    return why;
  }

  answered(number: number): void {
    this.#length -= this.#lengths.get(number) ?? 0;
    this.#lengths.delete(number);
  }

  /** Whether it goes on asking, however often it is refused. */
  get isFlooded(): boolean {
    return this.#refused > MOST_REFUSED;
  }

  #refuse(number: number, length: number): string | null {
    if (length > this.#longest) return "Its value is too large";
    const isFull = this.#length > MAX_WAITING_BYTES || this.#lengths.size >= MOST_WAITING;
    return isFull || this.#lengths.has(number) ? "Too many operations wait" : null;
  }
}
