import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker, type Run, type WorkerEvents } from "../../src/server/workers/worker.ts";
import { failed, type FlowSpec } from "../../src/shared/wire/protocol.ts";

/** A worker with runs, the last of which never left the server, and what it tells. */
function openCut(ids: readonly string[], unsent: number) {
  const told: string[] = [];
  const tell = (what: string, runs: readonly Run[]): void => {
    if (runs.length > 0) told.push(`${what} ${runs.map(({ id }) => id).join()}`);
  };
  const events: WorkerEvents = {
    onReady: () => {},
    onEnded: () => {},
    onStray: () => {},
    onRecalled: (_, runs) => tell("back", runs),
    onCrashed: (_, runs) => tell("lost", runs),
    onFailed: () => {},
  };
  const line = {
    run: () => {},
    recall: () => {},
    abort: () => {},
    answer: () => {},
    end: () => {},
  };
  const worker = new Worker({ key: "a@1" } as FlowSpec, line, events);
  worker.started();
  for (const id of ids) worker.assign([{ id } as Run]);
  worker.unsent(unsent);
  return { worker, told };
}

test("what never left the server comes back once; what had begun is lost with its thread", () => {
  const { worker, told } = openCut(["a", "b"], 1);
  worker.end();
  worker.recalled(1);
  assert.ok(worker.hasBegun, "its version is to blame");
  worker.crashed(failed("lost"), true);
  assert.deepEqual(told, ["back b", "lost a"]);
});

test("the first of a round comes back where it never left the server", () => {
  for (const act of ["recalled", "exited"] as const) {
    const { worker, told } = openCut(["a"], 1);
    worker.end();
    worker[act](1, failed("gone"));
    assert.deepEqual(told, ["back a"], act);
  }
});

test("as many may never have left the server as were handed over, and are back", () => {
  const { worker, told } = openCut(["a", "b"], 2);
  worker.end();
  worker.recalled(1);
  worker.exited(1, failed("gone"));
  assert.deepEqual(told, ["back a,b"]);
});
