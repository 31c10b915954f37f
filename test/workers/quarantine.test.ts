import assert from "node:assert/strict";
import { test } from "node:test";
import { DEATHS, Quarantine } from "../../src/server/workers/quarantine.ts";

const MINUTE = 60_000;

test("who was in a runner that died runs apart, for ten minutes after its last death", () => {
  const quarantine = new Quarantine();
  assert.equal(quarantine.placeOf("a", 0), "everybody");
  quarantine.note("a", 0, false);
  assert.equal(quarantine.placeOf("a", 1), "alone");
  assert.equal(quarantine.placeOf("b", 1), "everybody");
  quarantine.note("a", 5 * MINUTE, false);
  assert.equal(quarantine.placeOf("a", 14 * MINUTE), "alone");
  assert.equal(quarantine.placeOf("a", 15 * MINUTE), "everybody");
});

test("of many suspects those with the most deaths are alone, and the others share", () => {
  const quarantine = new Quarantine();
  const names = ["a", "b", "c", "d", "e", "f"];
  for (const name of names) quarantine.note(name, 0, false);
  for (const name of ["c", "d", "e"]) quarantine.note(name, 1, false);
  quarantine.note("f", 2, true);
  const places = names.map((name) => quarantine.placeOf(name, 3));
  assert.deepEqual(places, ["quarantined", "quarantined", "alone", "alone", "alone", "alone"]);
});

test("only deaths of a runner that it had alone break a version, within ten minutes", () => {
  const quarantine = new Quarantine();
  for (let death = 0; death < 10; death += 1)
    assert.equal(quarantine.note("a", death, false), false, "somebody else may be the cause");
  const alone = (minutes: number): boolean => quarantine.note("b", minutes * MINUTE, true);
  assert.equal(DEATHS, 3);
  assert.deepEqual([alone(0), alone(9), alone(18), alone(18.5)], [false, false, false, true]);
  quarantine.clear("b");
  assert.equal(alone(19), false, "loaded again by hand, it starts anew");
});
