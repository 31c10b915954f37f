/** What tells whether the ledger's disk has room. */
export interface LedgerRoomOptions {
  /** Takes some of the disk for the next rows. @throws Error of the operating system */
  reserve(length: number): void;
  /** @param error why no row can be written from now on; null: rows can be written again */
  onChange(error: Error | null): void;
}

/** A disk that lacks this is full, though a small row may still fit; bytes. */
const NEEDED_LENGTH = 1024 * 1024;
const RETRY_MS = 1000;

/**
 * Whether rows of the ledger can be written. After one that could not, the disk itself is tried
 * again and again: a service that is not ready gets no call that would find it out.
 */
export class LedgerRoom {
  readonly #options: LedgerRoomOptions;
  #isThere = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LedgerRoomOptions) {
    this.#options = options;
  }

  get isThere(): boolean {
    return this.#isThere;
  }

  /** A row could not be written; one that is larger than the rest of the disk is no sign of it. */
  missed(): void {
    if (this.#isThere) this.#try();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #try(): void {
    const error = this.#reserve();
    if (error !== null) this.#timer = setTimeout(() => this.#try(), RETRY_MS).unref();
    if (this.#isThere === (error === null)) return;
    this.#isThere = error === null;
    this.#options.onChange(error);
  }

  #reserve(): Error | null {
    try {
      this.#options.reserve(NEEDED_LENGTH);
      return null;
    } catch (error) {
      return error as Error;
    }
  }
}
