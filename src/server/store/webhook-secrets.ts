import type { Store } from "./store.ts";
import { toStatement } from "./prepared.ts";
import type { Statement, Unit } from "./statement.ts";
import type { WebhookRow } from "./webhooks.ts";

/** Statements on the table `webhook_secret`: which secrets webhooks check signatures with. */

/** In the place of those that it named before. */
export function putWebhookSecrets(
  store: Store,
  webhook_id: string,
  secrets: readonly string[],
): Unit {
  const { rows } = store;
  const cleared = rows.deleteFrom("webhook_secret").where("webhook_id", "=", webhook_id);
  const values = [...new Set(secrets)].map((secret) => ({ webhook_id, secret }));
  if (values.length === 0) return [toStatement(cleared)];
  return [toStatement(cleared), toStatement(rows.insertInto("webhook_secret").values(values))];
}

export function webhooksOfSecret(store: Store, secret: string): Promise<WebhookRow[]> {
  return store.rows
    .selectFrom("webhook")
    .innerJoin("webhook_secret", "webhook_id", "id")
    .selectAll("webhook")
    .where("secret", "=", secret)
    .orderBy("name")
    .execute();
}

/** Legs that were signed before are void. */
export function raiseRevision(store: Store, webhook_id: string): Statement {
  return toStatement(raised(store).where("id", "=", webhook_id), { changes: "webhook" });
}

/** What was signed under an older value of a secret is void. */
export function raiseRevisions(store: Store, secret: string): Statement {
  const query = raised(store).where("id", "in", (e) =>
    e.selectFrom("webhook_secret").select("webhook_id").where("secret", "=", secret),
  );
  return toStatement(query, { changes: "webhook" });
}

/** By the row as it is then: others may raise it at the same time. */
function raised({ rows }: Store) {
  return rows
    .updateTable("webhook")
    .set((e) => ({ signature_revision: e("signature_revision", "+", 1) }));
}
