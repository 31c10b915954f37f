import assert from "node:assert/strict";
import { test } from "node:test";
import { duration } from "../../src/browser/format.ts";

test("a duration is rounded before it is divided into its units", () => {
  const shown: readonly (readonly [ms: number | null, text: string])[] = [
    [null, "–"],
    [0, "0 ms"],
    [0.4, "0.4 ms"],
    [12.3, "12 ms"],
    [999.4, "999 ms"],
    [999.6, "1.0 s"],
    [1449, "1.4 s"],
    [9949, "9.9 s"],
    [9960, "10 s"],
    [59_400, "59 s"],
    [59_600, "1 min 0 s"],
    [119_400, "1 min 59 s"],
    [119_600, "2 min 0 s"],
    [3_599_600, "1 h 0 min"],
    [7_500_000, "2 h 5 min"],
  ];
  assert.deepEqual(
    shown.map(([ms]) => duration(ms)),
    shown.map(([, text]) => text),
  );
});
