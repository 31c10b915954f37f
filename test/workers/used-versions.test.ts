import assert from "node:assert/strict";
import { test } from "node:test";
import { UsedVersions } from "../../src/server/workers/used-versions.ts";

const MINUTE = 60_000;

test("native calls that were left behind are those of who ran within a minute", () => {
  const used = new UsedVersions();
  used.use("early", 0);
  used.use("again", 0);
  used.use("again", MINUTE);
  used.use("late", MINUTE);
  assert.deepEqual(used.findRecent(MINUTE - 1), ["early", "again", "late"]);
  assert.deepEqual(used.findRecent(MINUTE), ["again", "late"]);
  assert.deepEqual(used.findRecent(2 * MINUTE), []);
  assert.equal(used.size, 3, "whoever has been in it was not alone");
});

test("a version whose thread does not end is blamed once, and for no later end", () => {
  const used = new UsedVersions();
  assert.equal(used.stuck, undefined);
  assert.deepEqual(
    [used.addStuck("a"), used.addStuck("b"), used.addStuck("a")],
    [true, true, false],
  );
  assert.equal(used.stuck, "a");
  assert.deepEqual(used.withoutStuck(["c", "a", "d", "c"]), ["c", "d"]);
});
