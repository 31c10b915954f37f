import assert from "node:assert/strict";
import { test } from "node:test";
import { openCrowdedReport } from "../../src/server/executions/crowded-report.ts";
import { openLogFor, type LogEntry } from "../../src/shared/log.ts";

test("that flows take each other's threads is said once in ten minutes", () => {
  const logged: LogEntry[] = [];
  let now = 0;
  const log = openLogFor("warn", (entry) => void logged.push(entry));
  const report = openCrowdedReport(log, 16, () => now);
  for (const minute of [0, 1, 9.9, 10, 19.9, 20]) {
    now = minute * 60_000;
    report();
  }
  assert.equal(logged.length, 3);
  assert.match(logged[0]?.msg ?? "", /WARM_THREADS \(16\)/);
});
