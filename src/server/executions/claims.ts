import { now } from "../../shared/clock.ts";
import type { ClaimRow } from "../store/claim-row.ts";
import { findClaim } from "../store/claims.ts";
import type { Store } from "../store/database.ts";

/** Taken for one call: nobody else starts an execution for the same before it is decided. */
export interface HeldClaim {
  readonly rows: readonly ClaimRow[];
  /** The execution is on disk: whoever waits for the claim joins it. */
  settle(executionId: string): void;
  /** It was refused: the claim is free again. */
  release(): void;
  /** The tables have it. */
  applied(): void;
}

/** An execution that was started for the same before. */
export interface Duplicate {
  readonly executionId: string;
}

/** A claim between its taking and its row in the tables. */
interface Pending {
  /** null: it was released. */
  readonly settled: Promise<string | null>;
}

/**
 * What only one execution is started for, each by a hash. Committed with the execution; what the
 * tables do not have yet is in memory, because this process alone writes to the store.
 */
export class Claims {
  readonly #store: Store;
  readonly #pending = new Map<string, Pending>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** @param hashes any of which makes it a duplicate */
  async take(hashes: readonly string[], lifeMs: number): Promise<HeldClaim | Duplicate> {
    for (;;) {
      const busy = hashes.map((hash) => this.#pending.get(hash)).find((one) => one !== undefined);
      if (busy === undefined) return this.#takeFree(hashes, lifeMs);
      const executionId = await busy.settled;
      if (executionId !== null) return { executionId };
    }
  }

  async #takeFree(hashes: readonly string[], lifeMs: number): Promise<HeldClaim | Duplicate> {
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const pending: Pending = { settled: promise };
    for (const hash of hashes) this.#pending.set(hash, pending);
    const at = now();
    const forget = (): void => {
      for (const hash of hashes) this.#pending.delete(hash);
    };
    const release = (): void => {
      forget();
      resolve(null);
    };
    const found = await this.#find(hashes, at).catch((error: unknown) => {
      release();
      throw error;
    });
    if (found !== null) {
      release();
      return { executionId: found };
    }
    const rows = hashes.map((hash) => ({ hash, expires_at: at + lifeMs }));
    return { rows, settle: resolve, release, applied: forget };
  }

  async #find(hashes: readonly string[], at: number): Promise<string | null> {
    for (const hash of hashes) {
      const found = await findClaim(this.#store, hash, at);
      if (found !== undefined) return found.id;
    }
    return null;
  }
}
