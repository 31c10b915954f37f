import assert from "node:assert/strict";
import { prepareFirstStart } from "../../src/server/access/first-start.ts";
import { commitKeepingAdmin } from "../../src/server/api/user.ts";
import {
  deletePeople,
  findUserByName,
  insertUser,
  updatePeople,
  type UserRow,
} from "../../src/server/store/people.ts";
import type { Store } from "../../src/server/store/store.ts";
import { RequestError } from "../../src/shared/errors.ts";
import { testStores } from "../store/stores.ts";

async function find(store: Store, name: string): Promise<UserRow> {
  const user = await findUserByName(store, name);
  assert.ok(user !== undefined, name);
  return user;
}

function disable(store: Store, { id, modified_at }: UserRow) {
  return updatePeople(
    store,
    "user",
    { id, modified_at },
    { is_enabled: 0, modified_at: modified_at + 1 },
  );
}

testStores("the last enabled admin stays, and without one others still change", async (open) => {
  await using store = await open("keeping-admin");
  await (await prepareFirstStart(store, () => "correct horse battery")).commit();
  const admin = await find(store, "admin");
  await store.commit([insertUser(store, { ...admin, id: "bob", name: "bob" })]);
  const last = { user: admin, held: ["admin"] };
  const isConflict = (error: unknown) => error instanceof RequestError && error.code === "conflict";
  await assert.rejects(commitKeepingAdmin(store, last, [disable(store, admin)]), isConflict);
  await assert.rejects(
    commitKeepingAdmin(store, last, [deletePeople(store, "user", admin)]),
    isConflict,
  );
  // As two administrators of an earlier release have left each other.
  await store.commit([disable(store, admin)]);
  const bob = { user: await find(store, "bob"), held: ["viewer"] };
  await commitKeepingAdmin(store, bob, [disable(store, bob.user)]);
  assert.equal((await find(store, "bob")).is_enabled, 0);
  const [gone, held] = [await find(store, "admin"), ["admin"]];
  await commitKeepingAdmin(store, { user: gone, held }, [deletePeople(store, "user", gone)]);
  assert.equal(await findUserByName(store, "admin"), undefined);
});
