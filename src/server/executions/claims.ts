import { now } from "../../shared/clock.ts";
import type { ClaimRow } from "../store/claim-row.ts";
import { findClaim } from "../store/claims.ts";
import type { Store } from "../store/store.ts";

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
  /** SHA-256 of its call; null: it is not compared. */
  readonly fingerprint: string | null;
}

/** What a call may be a duplicate by. */
export interface Wanted {
  /** Any of which makes it one. */
  readonly hashes: readonly string[];
  readonly lifeMs: number;
  readonly fingerprint: string | null;
  /** Whether an execution that was started for the same counts no more: another takes its place. */
  readonly isOver: (executionId: string) => Promise<boolean>;
}

/** A claim between its taking and its row in the tables; null: it was released. */
type Pending = Promise<Duplicate | null>;

/**
 * What only one execution is started for, each by a hash. Committed with the execution; what the
 * tables do not have yet is in memory. Where other services use the store, that decides which begin
 * gets its claim: who does not takes it again, and finds the execution of the other.
 */
export class Claims {
  readonly #store: Store;
  readonly #pending = new Map<string, Pending>();

  constructor(store: Store) {
    this.#store = store;
  }

  async take(wanted: Wanted): Promise<HeldClaim | Duplicate> {
    for (;;) {
      const busy = this.#findPending(wanted);
      if (busy === undefined) return this.#takeFree(wanted);
      const duplicate = await busy;
      if (duplicate === null) continue;
      if (!(await isOver(wanted, duplicate))) return duplicate;
      // Somebody else may have taken its place meanwhile.
      if (this.#findPending(wanted) === busy) return this.#takeFree(wanted);
    }
  }

  #findPending({ hashes }: Wanted): Pending | undefined {
    return hashes.map((hash) => this.#pending.get(hash)).find((one) => one !== undefined);
  }

  async #takeFree(wanted: Wanted): Promise<HeldClaim | Duplicate> {
    const { hashes, fingerprint, lifeMs } = wanted;
    const { promise: pending, resolve } = Promise.withResolvers<Duplicate | null>();
    for (const hash of hashes) this.#pending.set(hash, pending);
    const at = now();
    const forget = (): void => {
      for (const hash of hashes)
        if (this.#pending.get(hash) === pending) this.#pending.delete(hash);
    };
    const release = (): void => {
      forget();
      resolve(null);
    };
    const over = new Map<string, string>();
    const found = await this.#find(wanted, at, over).catch((error: unknown) => {
      release();
      throw error;
    });
    if (found !== null) {
      release();
      return found;
    }
    const rows = hashes.map((hash) => {
      const replaces = over.get(hash);
      return {
        hash,
        fingerprint,
        expires_at: at + lifeMs,
        ...(replaces !== undefined && { replaces }),
      };
    });
    const settle = (executionId: string): void => resolve({ executionId, fingerprint });
    return { rows, settle, release, applied: forget };
  }

  /** @param over is given the executions that count no more, by the hashes of their claims */
  async #find(wanted: Wanted, at: number, over: Map<string, string>): Promise<Duplicate | null> {
    for (const hash of wanted.hashes) {
      const found = await findClaim(this.#store, hash, at);
      if (found === undefined) continue;
      const duplicate = { executionId: found.id, fingerprint: found.fingerprint };
      if (!(await isOver(wanted, duplicate))) return duplicate;
      over.set(hash, found.id);
    }
    return null;
  }
}

/** Another call takes nothing over. */
async function isOver(wanted: Wanted, { executionId, fingerprint }: Duplicate): Promise<boolean> {
  return !isOther(wanted.fingerprint, fingerprint) && wanted.isOver(executionId);
}

/** Whether the calls differ, where both are compared. */
export function isOther(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && one !== other;
}

/** Two claims of one call. */
export function joinClaims(one: HeldClaim, other: HeldClaim): HeldClaim {
  const both = [one, other];
  return {
    rows: both.flatMap(({ rows }) => rows),
    settle: (id) => both.forEach((claim) => claim.settle(id)),
    release: () => both.forEach((claim) => claim.release()),
    applied: () => both.forEach((claim) => claim.applied()),
  };
}
