import assert from "node:assert/strict";
import { test } from "node:test";
import { openLogFor, type LogEntry } from "../../src/shared/log.ts";
import { openBench } from "./runners-fixture.ts";

/** What the server fails on itself, while it takes what a thread says. */

interface Failure extends LogEntry {
  readonly err?: { readonly message: string; readonly stack: string };
}

for (const [way, options] of Object.entries({
  "to the server": {},
  "by way of its runner": { sockets: null },
}))
  test(`an error of the server's own is logged, where a thread speaks ${way}`, async () => {
    const logged: Failure[] = [];
    const log = openLogFor("error", (entry) => void logged.push(entry));
    await using bench = await openBench({ ...options, log });
    const spec = bench.flow(
      `export default ({ log }) => (log.info("told"), new Promise(() => {}))`,
    );
    bench.lines.set = function failingSet() {
      throw new Error("no place for a line");
    };
    const { status, status_message } = await bench.run(spec);
    assert.deepEqual([status, status_message], ["ENDED_ERROR", "The flow's thread was lost"]);
    const [{ level, flow, err } = {} as Failure, ...more] = logged;
    assert.deepEqual([level, flow, more.length], ["error", spec.flow, 0]);
    assert.equal(err?.message, "no place for a line");
    assert.match(err.stack, /failingSet/);
  });
