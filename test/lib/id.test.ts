import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { isId, newExecutionId } from "../../src/lib/id.ts";

test("identifiers of executions are UUIDs of version 7 that grow", () => {
  const ids = Array.from({ length: 20_000 }, () => newExecutionId());
  for (const id of ids.slice(0, 100)) {
    assert.ok(isId(id));
    assert.match(id, /^.{14}7.{4}[89ab]/);
  }
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(ids, ids.toSorted());
});

test("L8: they follow a clock that is set back, and do not go back for a small step", () => {
  const at = Date.UTC(2027, 0, 1);
  mock.timers.enable({ apis: ["Date"], now: at });
  try {
    const first = newExecutionId();
    mock.timers.setTime(at - 5000);
    const second = newExecutionId();
    assert.ok(second > first, "a step of seconds keeps the order");
    mock.timers.setTime(at - 3_600_000);
    const third = newExecutionId();
    assert.equal(timeOf(third), at - 3_600_000);
    const more = Array.from({ length: 5000 }, () => newExecutionId());
    assert.deepEqual(more, more.toSorted());
    mock.timers.setTime(at + 1000);
    assert.equal(timeOf(newExecutionId()), at + 1000);
    assert.equal(new Set([first, second, third, ...more]).size, 5003);
  } finally {
    mock.timers.reset();
  }
});

function timeOf(id: string): number {
  return Number.parseInt(id.replace("-", "").slice(0, 12), 16);
}
