import assert from "node:assert/strict";
import { test } from "node:test";
import { OperationError, requireUndecided } from "../../src/server/executions/operation-checks.ts";
import { decide } from "../../src/server/executions/outcome.ts";

test("what still runs after its end was decided is told why it starts no other", () => {
  const rows = [
    ["ENDED_CANCELLED", "It was cancelled: it starts no other any more"],
    ["ENDED_TIMEOUT", "Its time is over: it starts no other any more"],
    ["ENDED_ERROR", "It has ended: it starts no other any more"],
  ] as const;
  for (const [status, message] of rows)
    assert.throws(
      () => requireUndecided({ decided: decide("a", status, "") }),
      new OperationError(message),
    );
  requireUndecided({ decided: null });
});
