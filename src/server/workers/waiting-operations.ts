import { MAX_WAITING_BYTES, type OperationRequest } from "../../shared/wire/protocol.ts";

/** A thread's own program lets a tenth of these wait. */
const MOST_WAITING = 1_000;

/** The operations of one thread that wait for their answer, or whose answer has not left yet. */
export class WaitingOperations {
  /** Lengths of their values, in characters. */
  readonly #lengths = new Map<number, number>();
  readonly #longest: number;
  #length = 0;

  /** @param longest value, in characters */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** @returns false where a thread's own program would not have asked */
  add(number: number, { value, name }: OperationRequest): boolean {
    const isFull = this.#length > MAX_WAITING_BYTES || this.#lengths.size >= MOST_WAITING;
    const isTooLong = (value ?? name).length > this.#longest;
    if (isFull || isTooLong || this.#lengths.has(number)) return false;
    // As the thread counts: a name alone is none of it.
    const length = value?.length ?? 0;
    this.#lengths.set(number, length);
    this.#length += length;
    return true;
  }

  /** Its value is held no more: the thread may have read its answer before that is told as left. */
  answered(number: number): void {
    this.#length -= this.#lengths.get(number) ?? 0;
    this.#lengths.set(number, 0);
  }

  left(number: number): void {
    this.#lengths.delete(number);
  }
}
