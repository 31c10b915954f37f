import assert from "node:assert/strict";
import { test } from "node:test";
import { ActiveExecution } from "../../src/server/executions/active.ts";
import { ExecutionRun, type RunDeps } from "../../src/server/executions/execution-run.ts";
import { Handover } from "../../src/server/executions/handover.ts";
import { Journal } from "../../src/server/executions/journal.ts";
import { KeptInputs } from "../../src/server/executions/kept-inputs.ts";
import { openLogFor, type LogEntry } from "../../src/shared/log.ts";
import type { FlowSpec } from "../../src/shared/wire/protocol.ts";
import type { Run } from "../../src/server/workers/worker.ts";
import { newRow, toId } from "../store/rows.ts";
import { openStoreOf } from "../store/stores.ts";

test("the thread of runs that cannot be handed over is free again", async () => {
  await using store = await openStoreOf("sqlite", "handover.db");
  const logged: LogEntry[] = [];
  const log = openLogFor("error", (entry) => void logged.push(entry));
  const handover = new Handover({
    log,
    journal: new Journal(store, log),
    kept: new KeptInputs(),
    baseUrl: "",
    removals: {
      giveUp() {
        throw new Error("no place for an ending");
      },
      leave: () => assert.fail("it is left"),
    },
    heldBack: null,
    lease: null,
  });
  // Its input is in no record.
  const execution = new ActiveExecution(newRow(toId(1, 1)), undefined, null);
  const run = new ExecutionRun(execution, {} as FlowSpec, {} as RunDeps, null);
  const { promise: recorded, resolve } = Promise.withResolvers<readonly Run[]>();
  handover.record([run], resolve);
  assert.deepEqual(await recorded, []);
  assert.deepEqual(
    logged.map(({ msg }) => msg),
    ["Cannot hand runs over"],
  );
});
