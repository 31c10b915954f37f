import { lengthOf, type LedgerEntry } from "../ledger-record.ts";
import { MOST_OF_BATCH, type Recorded, type Written } from "./thread-protocol.ts";

type Write = (entries: readonly LedgerEntry[]) => Promise<Recorded>;

interface Asked {
  readonly entries: readonly LedgerEntry[];
  readonly length: number;
  resolve(written: Written): void;
  reject(error: unknown): void;
}

/**
 * What one lane is asked to write, in that order: what came while a write was under way is the next
 * one, so that the more there is, the fewer commits.
 */
export class LaneWrites {
  readonly #write: Write;
  #asked: Asked[] = [];
  #isWriting = false;

  constructor(write: Write) {
    this.#write = write;
  }

  /** @returns what became of these records; what was left as it is may be of others too */
  add(entries: readonly LedgerEntry[]): Promise<Written> {
    const length = entries.reduce((sum, entry) => sum + lengthOf(entry), 0);
    const { promise, resolve, reject } = Promise.withResolvers<Written>();
    this.#asked.push({ entries, length, resolve, reject });
    if (!this.#isWriting) this.#writeNext();
    return promise;
  }

  #writeNext(): void {
    this.#isWriting = this.#asked.length > 0;
    if (!this.#isWriting) return;
    const asked = this.#take();
    // The next write is under way while these are told.
    this.#write(asked.flatMap(({ entries }) => entries)).then(
      (recorded) => {
        this.#writeNext();
        answer(asked, recorded);
      },
      (error: unknown) => {
        this.#writeNext();
        for (const { reject } of asked) reject(error);
      },
    );
  }

  /** As many as one write takes: at least one. */
  #take(): Asked[] {
    let [count, records, length] = [0, 0, 0];
    for (const one of this.#asked) {
      records += one.entries.length;
      length += one.length;
      if (count > 0 && isTooMuch(records, length)) break;
      count += 1;
    }
    return this.#asked.splice(0, count);
  }
}

function isTooMuch(records: number, length: number): boolean {
  return records > MOST_OF_BATCH.records || length > MOST_OF_BATCH.length;
}

/** Places of errors are those within what each has asked. */
function answer(asked: readonly Asked[], recorded: Recorded): void {
  let from = 0;
  for (const { entries, resolve } of asked) {
    const [first, behind] = [from, from + entries.length];
    const errors = recorded.errors
      .filter(([at]) => at >= first && at < behind)
      .map(([at, error]) => [at - first, error] as const);
    resolve({ ...recorded, errors, batches: first === 0 ? 1 : 0 });
    from = behind;
  }
}
