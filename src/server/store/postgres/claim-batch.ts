import { now } from "../../../shared/clock.ts";
import { requireKey, toKey } from "../execution-key.ts";
import type { BeginRecord } from "../ledger-record.ts";
import { unnest, type Batch } from "./batch.ts";
import type { Cells, RowType } from "./row-bytes.ts";

/** The statements by which executions claim that nothing else is started for the same. */

/** The columns of the table, then what decides whether they are written. */
export const CLAIM_ROW: RowType = {
  name: "claim_row",
  columns: {
    hash: "text",
    execution_key: "bigint",
    fingerprint: "text",
    expires_at: "bigint",
    replaced: "bigint",
    at: "bigint",
  },
};

const CLAIMED = "hash, execution_key, fingerprint, expires_at";

/**
 * In the place of those that have expired or that may be replaced. Answers what was claimed: the
 * rest is another execution's, perhaps of another node. In one order, so that no two nodes wait for
 * each other.
 */
const CLAIM = `with given as materialized (select * from ${unnest(CLAIM_ROW)})
  insert into execution_claim (${CLAIMED})
  select ${CLAIMED} from given order by hash
  on conflict (hash) do update set execution_key = excluded.execution_key,
    fingerprint = excluded.fingerprint, expires_at = excluded.expires_at
  where execution_claim.execution_key = excluded.execution_key
    or exists (select from given where given.hash = execution_claim.hash
      and (execution_claim.expires_at <= given.at
        or execution_claim.execution_key = given.replaced))
  returning hash, execution_key as key`;

/** Of one hash the first: a statement writes each row once. */
export function toClaimBatch(begins: readonly BeginRecord[]): Batch | null {
  const rows = new Map<string, Cells>();
  const at = now();
  for (const { row, claims = [] } of begins)
    for (const { replaces, ...claim } of claims)
      if (!rows.has(claim.hash))
        rows.set(claim.hash, {
          ...claim,
          execution_key: requireKey(row.id),
          replaced: replaces === undefined ? null : toKey(replaces),
          at,
        });
  if (rows.size === 0) return null;
  const lists = [{ type: CLAIM_ROW, rows: [...rows.values()] }];
  return { name: "claim", text: CLAIM, lists, values: [], ids: [] };
}

/** Takes back the claims of executions that have not got all of theirs. */
export function toUnclaimBatch(begins: readonly BeginRecord[]): Batch {
  const keys = begins.map(({ row }) => requireKey(row.id));
  const text = "delete from execution_claim where execution_key = any($1::bigint[])";
  return { name: "unclaim", text, lists: [], values: [keys], ids: [] };
}
