import assert from "node:assert/strict";
import { test } from "node:test";
import { isWornOut } from "../../src/sandbox/thread-age.ts";
import type { FlowSpec } from "../../src/shared/wire/protocol.ts";

const ROOMY = specOf(100_000);
const FULL = specOf(1);

test("a thread has 100,000 runs at most, and one of a flow whose runs have threads of their own", () => {
  assert.equal(isWornOut(99_999, ROOMY), false);
  assert.equal(isWornOut(100_000, ROOMY), true);
  assert.equal(isWornOut(1, { ...ROOMY, isolation: "execution" }), true);
});

test("one whose heap is half full goes after 10,000", () => {
  assert.equal(isWornOut(9_000, FULL), false);
  assert.equal(isWornOut(10_000, FULL), true);
  assert.equal(isWornOut(10_000, ROOMY), false);
  assert.equal(isWornOut(20_000, FULL), true);
});

test("buffers beside the heap count, as long as they are held", () => {
  const spec = specOf(150);
  assert.equal(isWornOut(10_000, spec), false);
  const held = Buffer.alloc(250 * 2 ** 20);
  assert.equal(isWornOut(10_000, spec), true);
  assert.ok(held.length > 0);
});

function specOf(memory_mb: number): FlowSpec {
  const grants = { net: false, read: [], write: [], secrets: [] };
  const paths = { directory: "/", entry: "/flow.ts", plugins_dir: "/" };
  const own = { grants, memory_mb, isolation: "flow", stripped: {}, input_members: null } as const;
  return { key: "a@1", flow: "a", version: "1", ...paths, ...own };
}
