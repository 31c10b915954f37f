import assert from "node:assert/strict";
import { test } from "node:test";
import { duration, percent } from "../../src/browser/format.ts";

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
    [86_399_000, "23 h 59 min"],
    [443_000_000, "5 d 3 h"],
  ];
  assert.deepEqual(
    shown.map(([ms]) => duration(ms)),
    shown.map(([, text]) => text),
  );
});

test("a part is neither none nor the whole that only rounds to it", () => {
  const shown: readonly (readonly [part: number, whole: number, text: string])[] = [
    [0, 0, "–"],
    [0, 9, "0%"],
    [3, 1_000_000, "< 0.1%"],
    [4, 1000, "0.4%"],
    [997, 10_000, "10%"],
    [4, 9, "44%"],
    [999_999, 1_000_000, "> 99%"],
    [9, 9, "100%"],
  ];
  assert.deepEqual(
    shown.map(([part, whole]) => percent(part, whole)),
    shown.map(([, , text]) => text),
  );
});
