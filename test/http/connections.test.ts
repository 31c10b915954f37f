import assert from "node:assert/strict";
import { test } from "node:test";
import { mostConnections, warnOfFiles } from "../../src/server/http/connections.ts";

for (const [files, most] of [
  [null, 16_384],
  [2 ** 20, 16_384],
  [16_384, 12_288],
  [1024, 768],
  [600, 344],
  [256, 128],
] as const)
  test(`of ${files ?? "any number of"} files ${most} are for connections`, () => {
    assert.equal(mostConnections(files), most);
  });

test("who may open few files is told how many are left for callers, and what to do", () => {
  assert.deepEqual(warnOfFiles(1024), []);
  assert.deepEqual(warnOfFiles(null), []);
  const [warning = "", ...more] = warnOfFiles(256);
  assert.match(warning, / 256 files and sockets open, which leaves 128 for callers; .*ulimit -n/);
  assert.deepEqual(more, []);
});
