import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { newExecutionId } from "../../src/shared/id.ts";
import { Claims, type Duplicate, type HeldClaim } from "../../src/server/executions/claims.ts";
import { deleteExpiredClaims, putClaim } from "../../src/server/store/claims.ts";
import { openStore, type Store } from "../../src/server/store/database.ts";
import { insertExecution } from "../../src/server/store/executions.ts";
import { deleteExecutions } from "../../src/server/store/retention.ts";
import { INPUT, newRow } from "../store/rows.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook-claims-"));
const thread = join(import.meta.dirname, "../../src/server/store/store-thread.ts");
let store: Store;

before(async () => {
  store = await openStore({
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
  const all = Array.from({ length: 50 }, () => claims.take(["many"], LIFE_MS));
  const claim = held(await Promise.race(all));
  const id = await record(claim);
  claim.settle(id);
  const taken = await Promise.all(all);
  assert.equal(taken.filter((one) => "rows" in one).length, 1);
  assert.deepEqual(
    taken.filter((one) => "execution_id" in one),
    Array(49).fill({ executionId: id }),
  );
  claim.applied();
  assert.deepEqual(await claims.take(["many"], LIFE_MS), { executionId: id });
  assert.deepEqual(await new Claims(store).take(["other", "many"], LIFE_MS), { executionId: id });
});

test("one that was refused is free for the next", async () => {
  const claims = new Claims(store);
  const first = held(await claims.take(["refused"], LIFE_MS));
  const second = claims.take(["refused"], LIFE_MS);
  first.release();
  held(await second).release();
  held(await claims.take(["refused", "both"], LIFE_MS)).release();
});

test("it ends with its window, and with its execution", async () => {
  const claims = new Claims(store);
  const expired = held(await claims.take(["window"], -1));
  await record(expired);
  expired.applied();
  const again = held(await claims.take(["window"], LIFE_MS));
  const id = await record(again);
  again.applied();
  assert.deepEqual(await claims.take(["window"], LIFE_MS), { executionId: id });
  await store.commit([deleteExpiredClaims(store, Date.now())]);
  assert.deepEqual(await claims.take(["window"], LIFE_MS), { executionId: id });
  await store.commit(deleteExecutions(store, [id]));
  held(await claims.take(["window"], LIFE_MS)).release();
});
