import assert from "node:assert/strict";
import { findSecret, insertSecret, updateNamed } from "../../src/server/store/workspace.ts";
import type { Store } from "../../src/server/store/store.ts";
import type { StoreError } from "../../src/server/store/store-error.ts";
import type { Unit } from "../../src/server/store/statement.ts";
import { WEBHOOK_DEFAULTS } from "../../src/server/store/webhook-columns.ts";
import {
  expectUsers,
  holdSecrets,
  putWebhookSecrets,
  raiseRevision,
  raiseRevisions,
  webhooksOfSecret,
} from "../../src/server/store/webhook-secrets.ts";
import { insertWebhook, type WebhookRow } from "../../src/server/store/webhooks.ts";
import { testStores } from "./stores.ts";

/** A secret that is changed while a webhook is told to check signatures with it. */

async function addWebhook(store: Store, id: string): Promise<void> {
  const none = { description: "", bundle_id: null, role_id: null, project_id: null };
  const keys = { key_hash: null, previous_key_hash: null, previous_key_until: null };
  const uses = { key_used_at: null, previous_key_used_at: null, require_login: 0 };
  const by = { created_by: "u", created_at: 1, modified_by: "u", modified_at: 1 };
  const flags = { is_enabled: 1, is_productive: 1, execution_location: "webhook" } as const;
  const row: WebhookRow = {
    ...WEBHOOK_DEFAULTS,
    id,
    name: id,
    flow: "f",
    ...none,
    ...keys,
    ...uses,
    ...by,
    ...flags,
  };
  await store.commit([insertWebhook(store, row)]);
}

/** As PUT authentication commits it, by what is seen now. */
async function toUse(store: Store, webhook: string, names: readonly string[]): Promise<Unit> {
  const found = await Promise.all(names.map((name) => findSecret(store, name)));
  const seen = found.flatMap((row) => row ?? []);
  return [
    ...holdSecrets(store, seen),
    raiseRevision(store, webhook),
    ...putWebhookSecrets(store, webhook, names),
  ];
}

/** As PATCH of a secret commits it. */
async function toChange(store: Store, name: string): Promise<Unit> {
  const row = await findSecret(store, name);
  assert.ok(row !== undefined);
  const users = await webhooksOfSecret(store, name);
  const change = { sealed: row.sealed, modified_at: row.modified_at + 1 };
  return [
    updateNamed(store, "secret", row, change),
    expectUsers(store, name, users),
    raiseRevisions(store, name),
  ];
}

const told = (commit: Promise<unknown>): Promise<string> =>
  commit.then(
    () => "done",
    ({ code }: StoreError) => code,
  );

testStores("of a secret's change and a webhook's use of it, one is refused", async (open, kind) => {
  await using stack = new AsyncDisposableStack();
  const one = stack.use(await open("secrets.db"));
  const other = kind === "sqlite" ? one : stack.use(await open("secrets.db"));
  for (const name of ["a", "b"])
    await one.commit([insertSecret(one, { name, sealed: "s", created_at: 1, modified_at: 1 })]);
  for (let n = 0; n < 6; n += 1) {
    const id = `w${n}`;
    await addWebhook(one, id);
    const names = n % 2 === 0 ? ["a", "b"] : ["b", "a"];
    const first = await toUse(one, id, names);
    const second = await toChange(other, "b");
    const both = [() => one.commit(first), () => other.commit(second)];
    const acts = n % 3 === 0 ? both.toReversed() : both;
    const said = await Promise.all(acts.map((act) => told(act())));
    assert.deepEqual(said.toSorted(), ["changed_meanwhile", "done"]);
  }
});

testStores("what is seen as it is can be used and changed", async (open) => {
  await using store = await open("seen.db");
  await store.commit([
    insertSecret(store, { name: "a", sealed: "s", created_at: 1, modified_at: 1 }),
  ]);
  await addWebhook(store, "w");
  await store.commit(await toChange(store, "a"));
  await store.commit(await toUse(store, "w", ["a"]));
  const late = await toChange(store, "a");
  await store.commit(await toUse(store, "w", ["a"]));
  assert.equal(await told(store.commit(late)), "changed_meanwhile", "it may sign otherwise now");
  await store.commit(await toChange(store, "a"));
  await store.commit(await toUse(store, "w", []));
  await store.commit(await toChange(store, "a"));
});
