import assert from "node:assert/strict";
import { test } from "node:test";
import { openLogFor, type LogEntry } from "../../src/shared/log.ts";
import { openRareLine } from "../../src/shared/rare-line.ts";

test("what comes all the time is said once in ten minutes", (context) => {
  const logged: LogEntry[] = [];
  let now = 0;
  context.mock.method(performance, "now", () => now);
  const tell = openRareLine(
    openLogFor("warn", (entry) => void logged.push(entry)),
    "warn",
    600_000,
  );
  for (const minute of [0, 1, 9.9, 10, 19.9, 20]) {
    now = minute * 60_000;
    tell({}, `Told at ${minute}`);
  }
  assert.deepEqual(
    logged.map(({ msg }) => msg),
    ["Told at 0", "Told at 10", "Told at 20"],
  );
});
