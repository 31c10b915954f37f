import type { Insertable, Selectable } from "kysely";
import type { Store } from "./store.ts";
import { builder, prepare, toStatement } from "./prepared.ts";
import type { TokenTable } from "./schema.ts";
import type { Statement } from "./statement.ts";

export type TokenRow = Selectable<TokenTable>;

/** Statements on the table `token`: login tokens. */

const TOKEN_BY_HASH = prepare<{ hash: string }>(({ hash }) =>
  builder.selectFrom("token").selectAll().where("hash", "=", hash),
);

export function findTokenByHash(store: Store, hash: string): Promise<TokenRow | undefined> {
  return store.find(TOKEN_BY_HASH({ hash }));
}

export function insertToken(store: Store, row: Insertable<TokenTable>): Statement {
  return toStatement(store.rows.insertInto("token").values(row));
}

export function touchToken(
  store: Store,
  id: string,
  use: { last_used_at: number; last_used_from: string | null },
): Statement {
  return toStatement(store.rows.updateTable("token").set(use).where("id", "=", id));
}

export function deleteToken(store: Store, id: string): Statement {
  return toStatement(store.rows.deleteFrom("token").where("id", "=", id));
}

/** All tokens of a user, but for the one that is kept. */
export function deleteTokensOfUser(store: Store, user_id: string, kept?: string): Statement {
  let query = store.rows.deleteFrom("token").where("user_id", "=", user_id);
  if (kept !== undefined) query = query.where("id", "!=", kept);
  return toStatement(query);
}

export function deleteExpiredTokens(store: Store, at: number): Statement {
  return toStatement(store.rows.deleteFrom("token").where("expires_at", "<=", at));
}

const TOKEN = prepare<{ id: string }>(({ id }) =>
  builder.selectFrom("token").selectAll().where("id", "=", id),
);

export function findTokenById(store: Store, id: string): Promise<TokenRow | undefined> {
  return store.find(TOKEN({ id }));
}

export interface TokenWithUser extends TokenRow {
  readonly user_name: string;
}

/** Where a login token is in the list of them; a row is one. */
export type TokenPlace = Pick<TokenRow, "created_at" | "id">;

interface TokenPage {
  /** null: of everybody. */
  readonly user_id: string | null;
  /** Those that come after this one. */
  readonly after: TokenPlace | undefined;
  readonly limit: number;
  readonly ascending: boolean;
}

/** Login tokens, newest first unless it is said otherwise. */
export function listTokens(
  store: Store,
  { user_id, after, limit, ascending }: TokenPage,
): Promise<TokenWithUser[]> {
  const [order, beyond] = ascending ? (["asc", ">"] as const) : (["desc", "<"] as const);
  let query = store.lists
    .selectFrom("token")
    .innerJoin("user", "user.id", "token.user_id")
    .selectAll("token")
    .select("user.name as user_name")
    .orderBy("token.created_at", order)
    .orderBy("token.id", order)
    .limit(limit);
  if (user_id !== null) query = query.where("token.user_id", "=", user_id);
  if (after !== undefined) {
    const { created_at, id } = after;
    query = query.where((e) =>
      e.or([
        e("token.created_at", beyond, created_at),
        e.and([e("token.created_at", "=", created_at), e("token.id", beyond, id)]),
      ]),
    );
  }
  return query.execute();
}
