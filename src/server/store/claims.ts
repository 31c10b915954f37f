import type { ClaimRow } from "./claim-row.ts";
import type { Store } from "./store.ts";
import { requireKey } from "./execution-key.ts";
import { builder, derive, prepare, toStatement } from "./prepared.ts";
import type { Statement } from "./statement.ts";

/** A claim that was committed, with the id of its execution. */
export interface FoundClaim {
  readonly id: string;
  readonly fingerprint: string | null;
}

const FIND = prepare<{ hash: string; at: number }>(({ hash, at }) =>
  builder
    .selectFrom("execution_claim")
    .innerJoin("execution", "key", "execution_key")
    .select(["id", "fingerprint"])
    .where("hash", "=", hash)
    .where("expires_at", ">", at),
);

export function findClaim(store: Store, hash: string, at: number): Promise<FoundClaim | undefined> {
  return store.find(FIND({ hash, at }));
}

/** In the place of an expired one. */
export const putClaim = prepare<ClaimRow & { executionId: string }>((row) => {
  const execution_key = derive(({ executionId }: { executionId: string }) =>
    requireKey(executionId),
  );
  const { hash, fingerprint, expires_at } = row;
  return builder
    .insertInto("execution_claim")
    .values({ hash, execution_key, fingerprint, expires_at })
    .onConflict((conflict) =>
      conflict.column("hash").doUpdateSet({
        execution_key: (e) => e.ref("excluded.execution_key"),
        fingerprint: (e) => e.ref("excluded.fingerprint"),
        expires_at: (e) => e.ref("excluded.expires_at"),
      }),
    );
});

/** @param most so many at once: what waits for the store waits for them too */
export function deleteExpiredClaims(store: Store, at: number, most: number): Statement {
  const expired = store.rows
    .selectFrom("execution_claim")
    .select("hash")
    .where("expires_at", "<", at)
    .limit(most);
  // Asked again: another call may have taken one over meanwhile.
  const all = store.rows.deleteFrom("execution_claim").where("expires_at", "<", at);
  return toStatement(all.where("hash", "in", expired));
}
