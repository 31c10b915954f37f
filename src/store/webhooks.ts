import type { Insertable, Selectable, Updateable } from "kysely";
import { toStatement, type Store } from "./database.ts";
import type { WebhookTable } from "./schema.ts";
import type { Statement } from "./thread-protocol.ts";

export type WebhookRow = Selectable<WebhookTable>;

/** Statements on the table `webhook`. */

export function findWebhook(store: Store, name: string): Promise<WebhookRow | undefined> {
  return store.rows.selectFrom("webhook").selectAll().where("name", "=", name).executeTakeFirst();
}

export interface WebhookFilter {
  readonly flow?: string | undefined;
  readonly is_enabled?: number | undefined;
  /** Names after this one. */
  readonly after?: string | undefined;
  readonly descending?: boolean | undefined;
  readonly limit: number;
}

/** In order of their names. */
export function listWebhooks(store: Store, filter: WebhookFilter): Promise<WebhookRow[]> {
  let query = store.lists.selectFrom("webhook").selectAll().limit(filter.limit);
  query = query.orderBy("name", filter.descending ? "desc" : "asc");
  if (filter.flow !== undefined) query = query.where("flow", "=", filter.flow);
  if (filter.is_enabled !== undefined) query = query.where("is_enabled", "=", filter.is_enabled);
  if (filter.after !== undefined)
    query = query.where("name", filter.descending ? "<" : ">", filter.after);
  return query.execute();
}

export function insertWebhook(store: Store, row: Insertable<WebhookTable>): Statement {
  return toStatement(store.rows.insertInto("webhook").values(row));
}

/** Fails the unit with `changed_meanwhile` where somebody else modified it since `seen_at`. */
export function updateWebhook(
  store: Store,
  id: string,
  seen_at: number,
  change: Updateable<WebhookTable>,
): Statement {
  const query = store.rows
    .updateTable("webhook")
    .set(change)
    .where("id", "=", id)
    .where("modified_at", "=", seen_at);
  return toStatement(query, "changed_meanwhile");
}

export function deleteWebhook(store: Store, id: string): Statement {
  return toStatement(store.rows.deleteFrom("webhook").where("id", "=", id), "not_found");
}
