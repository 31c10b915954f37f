import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openDataKey } from "../../src/server/access/data-key.ts";
import { openSecretBox } from "../../src/server/access/secret-box.ts";
import { openCheckedKey } from "../../src/server/access/key-check.ts";
import { insertSecret } from "../../src/server/store/workspace.ts";
import { openStoreOf } from "../store/stores.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook-key-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("a database with secrets and without a check takes the key that opens one of them", async () => {
  await using store = await openStoreOf("postgres", "key-check");
  const place = { DATA_DIR: folder, DATA_KEY: null };
  const secret = { name: "S", sealed: "AAAA", created_at: 1, modified_at: 1 };
  await store.commit([insertSecret(store, secret)]);
  await assert.rejects(openCheckedKey(store, place), /Found no data key/);
  assert.ok(!existsSync(join(folder, "secret.key")), "it would be the one of the database");
  const right = { ...place, DATA_KEY: "ab".repeat(32) };
  await assert.rejects(openCheckedKey(store, right), /Found another data key \(DATA_KEY\)/);
  const box = openSecretBox(openDataKey(right).derive("secrets"));
  await store.commit([insertSecret(store, { ...secret, name: "T", sealed: box.seal("T", "t") })]);
  const { unit } = await openCheckedKey(store, right);
  assert.equal(unit.length, 1, "it opens one of them");
});
