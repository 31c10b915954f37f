import type { Store } from "./store.ts";
import { toStatement } from "./prepared.ts";
import type { Statement } from "./statement.ts";

/** Statements on the table `key_check`, which only a store that several services use has. */

/** undefined: it was never filled. */
export async function findKeyCheck(store: Store): Promise<string | undefined> {
  const row = await store.rows.selectFrom("key_check").select("hmac").executeTakeFirst();
  return row?.hmac;
}

export function insertKeyCheck(store: Store, hmac: string): Statement {
  return toStatement(store.rows.insertInto("key_check").values({ id: 1, hmac }));
}
