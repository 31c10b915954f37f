import assert from "node:assert/strict";
import { test } from "node:test";
import { ActiveExecution, ActiveExecutions } from "../../src/server/executions/active.ts";
import { Endings } from "../../src/server/executions/endings.ts";
import { Journal } from "../../src/server/executions/journal.ts";
import { findExecution, insertExecution } from "../../src/server/store/executions.ts";
import { openLogFor, type LogEntry } from "../../src/shared/log.ts";
import type { Ending } from "../../src/shared/wire/protocol.ts";
import { INPUT, newRow, toId } from "../store/rows.ts";
import { openStoreOf } from "../store/stores.ts";

/** How an execution ends that the service itself fails on. */

const SMALL = '"done"';
/** So much is judged elsewhere. */
const LARGE = JSON.stringify("x".repeat(1_000_000));

for (const output_value of [SMALL, LARGE])
  test(`one with a result of ${output_value.length} characters ends as an error`, async () => {
    await using store = await openStoreOf("sqlite", `failing-${output_value.length}.db`);
    const row = newRow(toId(1, 1), {
      status: "RUNNING",
      ended_at: null,
    });
    await store.commit(insertExecution(row, INPUT));
    const logged: LogEntry[] = [];
    const log = openLogFor("error", (entry) => void logged.push(entry));
    const active = new ActiveExecutions();
    const execution = new ActiveExecution(row, undefined, null);
    active.add(execution);
    const endings = new Endings({
      store,
      log,
      limits: { max_output_bytes: 2_000_000, sandboxed: false },
      judgeLarge: () => Promise.reject(new Error("cannot judge")),
      reportEnding: () => {},
      journal: new Journal(store, log),
      active,
      overtaken: () => assert.fail("it was overtaken"),
    });
    const { ledger } = store;
    const append = ledger.append.bind(ledger);
    ledger.append = () => {
      ledger.append = append;
      throw new Error("no place for an ending");
    };
    const ending: Ending = {
      status: "ENDED_SUCCESS",
      status_message: null,
      output_value,
      response: null,
    };
    endings.conclude(execution, ending);
    const { status, status_message } = await execution.ended;
    const told = ["ENDED_ERROR", "The flow's ending could not be recorded"];
    assert.deepEqual([status, status_message], told);
    const found = await findExecution(store, row.id);
    assert.deepEqual([found?.status, found?.status_message], told);
    assert.equal(logged.at(-1)?.level, "error");
  });
