import assert from "node:assert/strict";
import { test } from "node:test";
import { CONFIG_KEYS, describeConfig } from "../../src/server/config/schema.ts";

test("every key has a default, a type and a meaning in words", () => {
  const rows = describeConfig();
  assert.deepEqual(
    rows.map((row) => row.key),
    CONFIG_KEYS,
  );
  for (const row of rows) {
    assert.match(row.meaning, /\.$/, row.key);
    assert.notEqual(row.type, "", row.key);
    assert.notEqual(row.default, "", row.key);
  }
});
