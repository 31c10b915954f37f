import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { newExecutionId } from "../../src/shared/id.ts";
import {
  Claims,
  type Duplicate,
  type HeldClaim,
  type Wanted,
} from "../../src/server/executions/claims.ts";
import { deleteExpiredClaims, putClaim } from "../../src/server/store/claims.ts";
import { openSqliteStore } from "../../src/server/store/sqlite/store.ts";
import type { Store } from "../../src/server/store/store.ts";
import { insertExecution } from "../../src/server/store/executions.ts";
import { deleteExecutions } from "../../src/server/store/retention.ts";
import { INPUT, newRow } from "../store/rows.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook-claims-"));
const thread = join(import.meta.dirname, "../../src/server/store/sqlite/thread.ts");
let store: Store;

before(async () => {
  store = await openSqliteStore({
    path: join(folder, "a.db"),
    durability: "normal",
    addon: null,
    thread,
  });
});

after(async () => {
  await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const LIFE_MS = 60_000;

const never = async () => false;

function by(hashes: string[], lifeMs: number, isOver: Wanted["isOver"] = never): Wanted {
  return { hashes, lifeMs, fingerprint: null, isOver };
}

function held(taken: HeldClaim | Duplicate): HeldClaim {
  assert.ok("rows" in taken, "expected it to be free");
  return taken;
}

/** As the applier does with what the ledger holds. */
async function record(claim: HeldClaim): Promise<string> {
  const id = newExecutionId();
  const puts = claim.rows.map((row) => putClaim({ ...row, executionId: id }));
  await store.commit([...insertExecution(newRow(id), INPUT), ...puts]);
  return id;
}

test("of many at once one holds it, and the others join that one", async () => {
  const claims = new Claims(store);
  const all = Array.from({ length: 50 }, () => claims.take(by(["many"], LIFE_MS)));
  const claim = held(await Promise.race(all));
  const id = await record(claim);
  claim.settle(id);
  const taken = await Promise.all(all);
  assert.equal(taken.filter((one) => "rows" in one).length, 1);
  assert.deepEqual(
    taken.filter((one) => "executionId" in one),
    Array(49).fill({ executionId: id, fingerprint: null }),
  );
  claim.applied();
  assert.deepEqual(await claims.take(by(["many"], LIFE_MS)), {
    executionId: id,
    fingerprint: null,
  });
  assert.deepEqual(await new Claims(store).take(by(["other", "many"], LIFE_MS)), {
    executionId: id,
    fingerprint: null,
  });
});

test("one that was refused is free for the next", async () => {
  const claims = new Claims(store);
  const first = held(await claims.take(by(["refused"], LIFE_MS)));
  const second = claims.take(by(["refused"], LIFE_MS));
  first.release();
  held(await second).release();
  held(await claims.take(by(["refused", "both"], LIFE_MS))).release();
});

test("it ends with its window, and with its execution", async () => {
  const claims = new Claims(store);
  const expired = held(await claims.take(by(["window"], -1)));
  await record(expired);
  expired.applied();
  const again = held(await claims.take(by(["window"], LIFE_MS)));
  const id = await record(again);
  again.applied();
  assert.deepEqual(await claims.take(by(["window"], LIFE_MS)), {
    executionId: id,
    fingerprint: null,
  });
  await store.commit([deleteExpiredClaims(store, Date.now(), 9)]);
  assert.deepEqual(await claims.take(by(["window"], LIFE_MS)), {
    executionId: id,
    fingerprint: null,
  });
  await store.commit(deleteExecutions(store, [id]));
  held(await claims.take(by(["window"], LIFE_MS))).release();
});

test("one whose execution counts no more is taken over by one of many", async () => {
  const claims = new Claims(store);
  const first = held(await claims.take(by(["over"], LIFE_MS)));
  const failed = await record(first);
  first.settle(failed);
  const isOver = async (id: string) => id === failed;
  for (const isApplied of [false, true]) {
    if (isApplied) first.applied();
    const all = Array.from({ length: 20 }, () => claims.take(by(["over"], LIFE_MS, isOver)));
    const second = held(await Promise.race(all));
    if (!isApplied) {
      second.release();
      const rest = await Promise.race(all.slice(1));
      held(rest).settle("another");
      await Promise.all(all);
      held(rest).release();
      continue;
    }
    const id = await record(second);
    second.settle(id);
    second.applied();
    const taken = await Promise.all(all);
    assert.equal(taken.filter((one) => "rows" in one).length, 1);
    assert.equal(((await claims.take(by(["over"], LIFE_MS))) as Duplicate).executionId, id);
  }
});
