import assert from "node:assert/strict";
import { test } from "node:test";
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
