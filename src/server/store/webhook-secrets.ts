import { sql } from "kysely";
import type { Store } from "./store.ts";
import { toStatement } from "./prepared.ts";
import type { Statement, Unit } from "./statement.ts";
import type { WebhookRow } from "./webhooks.ts";
import type { SecretRow } from "./workspace.ts";

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

/**
 * For a unit that relies on what secrets were seen to be worth: fails with `changed_meanwhile` where
 * that was changed. Such units and those that change a secret wait for each other at its row.
 */
export function holdSecrets(
  store: Store,
  seen: readonly Pick<SecretRow, "name" | "modified_at">[],
): Unit {
  // In one order, so that no two wait for each other.
  const ordered = seen.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return ordered.map(({ name, modified_at }) =>
    toStatement(held(store, name).where("modified_at", "=", modified_at), {
      expect: "changed_meanwhile",
    }),
  );
}

/**
 * Behind a statement that changes a secret: fails with `changed_meanwhile` where another webhook checks
 * signatures with it than were seen, or one of them otherwise.
 */
export function expectUsers(store: Store, name: string, seen: readonly WebhookRow[]): Statement {
  const known = seen.map(({ id, signature_revision }) => `${id} ${signature_revision}`);
  const query = held(store, name).where(({ exists, not, selectFrom }) =>
    not(
      exists(
        selectFrom("webhook")
          .innerJoin("webhook_secret", "webhook_id", "id")
          .select("id")
          .where("webhook_secret.secret", "=", name)
          .where(sql`id || ' ' || signature_revision`, "not in", [...known, ""]),
      ),
    ),
  );
  return toStatement(query, { expect: "changed_meanwhile" });
}

function held({ rows }: Store, name: string) {
  return rows
    .updateTable("secret")
    .set((e) => ({ modified_at: e.ref("modified_at") }))
    .where("name", "=", name);
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
