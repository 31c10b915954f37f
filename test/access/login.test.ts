import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { test } from "node:test";
import { openActivity } from "../../src/server/access/activity.ts";
import { openOwnCounts } from "../../src/server/access/failure-counts.ts";
import { openLockout } from "../../src/server/access/lockout.ts";
import { openLogins, type Logins } from "../../src/server/access/login.ts";
import { hashPassword } from "../../src/server/access/password.ts";
import {
  deletePeople,
  findUserByName,
  insertUser,
  updatePassword,
  updatePeople,
} from "../../src/server/store/people.ts";
import { deleteTokensOfUser, touchToken } from "../../src/server/store/tokens.ts";
import type { Unit } from "../../src/server/store/statement.ts";
import type { Store } from "../../src/server/store/store.ts";
import { openLogFor } from "../../src/shared/log.ts";
import { newId } from "../../src/shared/id.ts";
import { poll } from "../blackbox/scenario.ts";
import { openStoreOf, pathOf, testStores } from "../store/stores.ts";

const LIMITS = { free: 3, most: 10, mostOfAddress: 100, windowMs: 60_000 };

/** Logins of a store, and what happens to it once a password was found right. */
async function openOvertaken(store: Store, overtake: () => Promise<unknown>): Promise<Logins> {
  const counts = openOwnCounts(LIMITS);
  const forgive: typeof counts.forgive = async (keys) => {
    await counts.forgive(keys);
    await overtake();
  };
  return openLogins({
    store,
    lockout: openLockout(LIMITS, { ...counts, forgive }),
    activity: await openActivity(store),
    ttlMs: 60_000,
    log: openLogFor("warn", () => {}),
    meters: { countFailedLogin: () => {} },
  });
}

const OLD = await hashPassword("old");
const NEW = await hashPassword("new");

/** What overtakes a login, as the API commits it. */
const CHANGES: Readonly<Record<string, (store: Store, id: string) => Unit>> = {
  "a new password": (store, id) => [
    updatePeople(store, "user", { id, modified_at: 0 }, { password_hash: NEW, modified_at: 1 }),
    deleteTokensOfUser(store, id),
  ],
  "being disabled": (store, id) => [
    updatePeople(store, "user", { id, modified_at: 0 }, { is_enabled: 0, modified_at: 1 }),
    deleteTokensOfUser(store, id),
  ],
  "being deleted": (store, id) => [deletePeople(store, "user", { id, modified_at: 0 })],
};

testStores("a login that a change of its user overtakes is none", async (open) => {
  await using store = await open("overtaken.db");
  for (const [name, change] of Object.entries(CHANGES)) {
    const id = newId();
    const stamps = { active_at: null, created_at: 0, modified_at: 0 };
    const row = { id, name, email: "", password_hash: OLD, is_enabled: 1, ...stamps };
    await store.commit([insertUser(store, row)]);
    const overtaken = await openOvertaken(store, () => store.commit(change(store, id)));
    assert.equal(await overtaken.login(name, "old", "127.0.0.1"), null, name);
  }
  const logins = await openOvertaken(store, async () => {});
  const found = await logins.login("a new password", "new", "127.0.0.1");
  assert.notEqual(found, null, "the new password logs in");
  const user = await findUserByName(store, "a new password");
  assert.notEqual(user?.active_at, null, "a login is activity");
});

testStores("a new password ends the lock of its user", async (open) => {
  await using store = await open("locked.db");
  const id = newId();
  const stamps = { active_at: null, created_at: 0, modified_at: 0 };
  const row = { id, name: "locked", email: "", password_hash: OLD, is_enabled: 1, ...stamps };
  await store.commit([insertUser(store, row)]);
  const logins = openLogins({
    store,
    lockout: openLockout({ ...LIMITS, free: LIMITS.most }),
    activity: await openActivity(store),
    ttlMs: 60_000,
    log: openLogFor("warn", () => {}),
    meters: { countFailedLogin: () => {} },
  });
  const logIn = (password: string) => logins.login("locked", password, "127.0.0.1");
  for (let failed = 0; failed < LIMITS.most; failed += 1) assert.equal(await logIn("wrong"), null);
  const isLocked = { code: "too_many_attempts" };
  await assert.rejects(logIn("old"), isLocked);
  await store.commit([updatePassword(store, { id, password_hash: NEW, at: 1 })]);
  assert.notEqual(await logIn("new"), null);
});

test("who is logged in reads on, though that cannot be written", async () => {
  await using store = await openStoreOf("sqlite", "unwritable.db");
  const stamps = { active_at: null, created_at: 0, modified_at: 0 };
  const row = { id: newId(), name: "a", email: "", password_hash: OLD, is_enabled: 1, ...stamps };
  await store.commit([insertUser(store, row)]);
  const logins = await openOvertaken(store, async () => {});
  const login = await logins.login("a", "old", "127.0.0.1");
  assert.ok(login !== null);
  const used = { last_used_at: 0, last_used_from: "127.0.0.1" };
  await store.commit([touchToken(store, login.principal.tokenId, used)]);
  const path = pathOf("unwritable.db");
  renameSync(path, `${path}.away`);
  await poll("nothing to be written", async () => (store.ledger.isWritable ? null : true));
  await assert.rejects(store.commit([touchToken(store, login.principal.tokenId, used)]), {
    kind: "unavailable",
  });
  assert.equal((await logins.authenticate(login.token, "127.0.0.1"))?.user_name, "a");
});
