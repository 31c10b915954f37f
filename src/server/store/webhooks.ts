import {
  sql,
  type ExpressionBuilder,
  type Insertable,
  type Selectable,
  type Updateable,
} from "kysely";
import type { Store } from "./store.ts";
import { builder, prepare, toStatement } from "./prepared.ts";
import type { Schema, WebhookTable } from "./schema.ts";
import type { Statement } from "./statement.ts";

export type WebhookRow = Selectable<WebhookTable>;

/** Statements on the table `webhook`. Each that writes forgets the kept rows. */
const CHANGES = { changes: "webhook" } as const;

const BY_NAME = prepare<{ name: string }>(({ name }) =>
  builder.selectFrom("webhook").selectAll().where("name", "=", name),
);

export function findWebhook(store: Store, name: string): Promise<Readonly<WebhookRow> | undefined> {
  return store.findKept("webhook", name, (asked) => BY_NAME({ name: asked }));
}

/** A webhook in a bundle, or in no project, is in the Default project (contract, section 2). */
export interface Within {
  readonly projectIds: readonly string[];
  readonly defaultProjectId: string;
}

export interface WebhookFilter {
  readonly flow?: string | undefined;
  readonly is_enabled?: number | undefined;
  readonly role_id?: string | undefined;
  readonly project_id?: string | undefined;
  /** What the name or the description contains, in any case. */
  readonly text?: string | undefined;
  /** Only what is in these projects; null or undefined: in any. */
  readonly within?: Within | null | undefined;
  /** Names after this one. */
  readonly after?: string | undefined;
  readonly descending?: boolean | undefined;
  readonly limit: number;
}

/** Where a text is looked for. */
const SEARCHED = ["name", "description"] as const;

/** In order of their names. */
export function listWebhooks(store: Store, filter: WebhookFilter): Promise<WebhookRow[]> {
  let query = store.lists.selectFrom("webhook").selectAll().where(store.dialect.whileWanted());
  query = query.limit(filter.limit);
  query = query.orderBy("name", filter.descending ? "desc" : "asc");
  for (const column of ["flow", "is_enabled", "role_id", "project_id"] as const) {
    const value = filter[column];
    if (value !== undefined) query = query.where(column, "=", value);
  }
  if (filter.after !== undefined)
    query = query.where("name", filter.descending ? "<" : ">", filter.after);
  const { within, text } = filter;
  const { contains } = store.dialect;
  if (text !== undefined)
    query = query.where((e) => e.or(SEARCHED.map((name) => contains(sql.ref(name), text))));
  if (within) query = query.where((e) => isWithin(e, within));
  return query.execute();
}

function isWithin(e: ExpressionBuilder<Schema, "webhook">, within: Within) {
  const ids = [...within.projectIds, ""];
  if (!ids.includes(within.defaultProjectId))
    return e.and([e("bundle_id", "is", null), e("project_id", "in", ids)]);
  return e.or([
    e("bundle_id", "is not", null),
    e("project_id", "is", null),
    e("project_id", "in", ids),
  ]);
}

/** Names of the first that are enabled, in no order. */
export async function listEnabledNames(store: Store, limit: number): Promise<string[]> {
  const query = store.rows.selectFrom("webhook").select("name").where("is_enabled", "=", 1);
  const rows = await query.limit(limit).execute();
  return rows.map(({ name }) => name);
}

/** All that limit their calls or executions. */
export function listLimited(
  store: Store,
): Promise<Pick<WebhookRow, "id" | "name" | "limits" | "modified_at">[]> {
  return store.rows
    .selectFrom("webhook")
    .select(["id", "name", "limits", "modified_at"])
    .where("limits", "is not", null)
    .execute();
}

export function insertWebhook(store: Store, row: Insertable<WebhookTable>): Statement {
  return toStatement(store.rows.insertInto("webhook").values(row), CHANGES);
}

/** Fails the unit with `changed_meanwhile` where somebody else modified it since `seenAt`. */
export function updateWebhook(
  store: Store,
  id: string,
  seenAt: number,
  change: Updateable<WebhookTable>,
): Statement {
  const query = store.rows
    .updateTable("webhook")
    .set(change)
    .where("id", "=", id)
    .where("modified_at", "=", seenAt);
  return toStatement(query, { ...CHANGES, expect: "changed_meanwhile" });
}

/** Writes when a key was used; nobody's change of the webhook is in the way of it. */
export function touchKey(
  store: Store,
  id: string,
  use: Pick<Updateable<WebhookTable>, "key_used_at" | "previous_key_used_at">,
): Statement {
  return toStatement(store.rows.updateTable("webhook").set(use).where("id", "=", id), CHANGES);
}

/** As `updateWebhook`. */
export function deleteWebhook(
  store: Store,
  seen: Pick<WebhookRow, "id" | "modified_at">,
): Statement {
  const query = store.rows
    .deleteFrom("webhook")
    .where("id", "=", seen.id)
    .where("modified_at", "=", seen.modified_at);
  return toStatement(query, { ...CHANGES, expect: "changed_meanwhile" });
}
