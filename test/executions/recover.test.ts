import assert from "node:assert/strict";
import type { Executions } from "../../src/server/executions/executions.ts";
import { recover } from "../../src/server/executions/recover.ts";
import type { RunnableFlow } from "../../src/server/executions/start-request.ts";
import type { Store } from "../../src/server/store/store.ts";
import type { ExecutionRow } from "../../src/server/store/execution-row.ts";
import { findExecution, insertExecution } from "../../src/server/store/executions.ts";
import { cancelUnended } from "../../src/server/store/unended.ts";
import { INPUT, newRow, toId } from "../store/rows.ts";
import { testStores } from "../store/stores.ts";

/** What a start of the service makes of what the last one has left, by itself. */

const RUNNING = { status: "RUNNING" as const, ended_at: null };
const PENDING = { status: "PENDING" as const, started_at: null, ended_at: null };

async function insert(store: Store, rows: readonly ExecutionRow[]): Promise<void> {
  await Promise.all(rows.map((row) => store.commit(insertExecution(row, INPUT))));
}

/** What is queued again, with its version; `known` is queued already. */
async function recoverFrom(store: Store, known: readonly string[] = []) {
  const resumed: { id: string; flow: RunnableFlow | undefined }[] = [];
  const executions = {
    find: (id: string) => (known.includes(id) ? ({} as never) : undefined),
    resume: ({ id }: ExecutionRow, flow: RunnableFlow | undefined) => resumed.push({ id, flow }),
  };
  const told: string[] = [];
  const counts = await recover({
    reportInterrupted: (executions) => told.push(...executions.map(({ id }) => id)),
    store,
    executions: executions as unknown as Executions,
    findFlow: async (name, version) =>
      name === "gone" ? undefined : ({ timeoutMs: Number(version) } as RunnableFlow),
  });
  return { resumed, counts, told };
}

testStores("what had started ends as interrupted, once, and what has ended stays", async (open) => {
  await using store = await open("started.db");
  const [running, ended, waiting] = [toId(1, 1), toId(2, 2), toId(3, 3)];
  await insert(store, [newRow(running, RUNNING), newRow(ended), newRow(waiting, PENDING)]);
  const { counts, told } = await recoverFrom(store);
  assert.deepEqual(counts, { interrupted: 1, resumed: 1 });
  assert.deepEqual(told, [running]);
  const row = await findExecution(store, running);
  assert.equal(row?.status, "ENDED_ERROR");
  assert.match(row?.status_message ?? "", /^interrupted by a restart/);
  assert.equal((await findExecution(store, ended))?.status, "ENDED_SUCCESS");
  assert.equal((await findExecution(store, waiting))?.status, "PENDING");
  assert.equal((await recoverFrom(store)).counts.interrupted, 0);
});

testStores("what is ended for it by a clock that was set back ends when it began", async (open) => {
  await using store = await open("set-back.db");
  const [running, waiting] = [toId(1, 1), toId(2, 2)];
  const later = Date.now() + 3_600_000;
  await insert(store, [
    newRow(running, { ...RUNNING, created_at: later - 5, started_at: later }),
    newRow(waiting, { ...PENDING, created_at: later }),
  ]);
  await recoverFrom(store);
  await store.commit([cancelUnended(store, waiting, "cancelled", Date.now())]);
  for (const id of [running, waiting])
    assert.equal((await findExecution(store, id))?.ended_at, later);
});

testStores(
  "what had not started is queued again in its order, however much it is",
  async (open) => {
    await using store = await open("waiting.db");
    const ids = Array.from({ length: 1201 }, (_, at) => toId(1 + Math.floor(at / 7), at, at % 7));
    const rows = ids.map((id, at) => newRow(id, { ...PENDING, flow_version: String(at) }));
    // As many callers at once have them written in no order.
    await insert(store, rows.toReversed());
    const { resumed, counts } = await recoverFrom(store);
    assert.equal(counts.resumed, ids.length);
    assert.deepEqual(
      resumed.map(({ id }) => id),
      ids,
    );
    assert.deepEqual(
      resumed.map(({ flow }) => flow?.timeoutMs),
      ids.map((_, at) => at),
      "each with the version that it was recorded with",
    );
  },
);

testStores(
  "what is queued already is left alone, and a flow that is gone is told as such",
  async (open) => {
    await using store = await open("known.db");
    const [known, gone] = [toId(1, 1), toId(2, 2)];
    await insert(store, [newRow(known, PENDING), newRow(gone, { ...PENDING, flow: "gone" })]);
    const { resumed, counts } = await recoverFrom(store, [known]);
    assert.deepEqual(resumed, [{ id: gone, flow: undefined }]);
    assert.equal(counts.resumed, 1);
  },
);
