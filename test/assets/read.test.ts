import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { listAssets, readAsset, VERSION } from "../../src/assets/read.ts";
import { openRuntime } from "../../src/assets/runtime.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("assets, from source", () => {
  test("the version is that of the package", () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      version: string;
    };
    assert.equal(VERSION, version);
  });

  test("example flows are listed and read by name", () => {
    const names = listAssets("demo/");
    assert.ok(names.includes("demo/hello.ts"), names.join(", "));
    const expected = readFileSync(join(ROOT, "plugins/hello.ts"));
    assert.deepEqual(Buffer.from(readAsset("demo/hello.ts")), expected);
  });

  test("an unknown asset is an error with its name", () => {
    assert.throws(() => readAsset("no-such-page.html"), /no-such-page\.html/);
  });

  test("the runtime's files lie in the source", () => {
    const { mode, runner, thread, author, storeThread, addon, readable } = openRuntime("/nowhere");
    assert.deepEqual([mode, addon], ["source", null]);
    for (const file of [runner, thread, author, storeThread, ...readable]) {
      assert.ok(existsSync(file), file);
    }
  });
});

describe("the default stylesheet", () => {
  const css = Buffer.from(readAsset("default-styling.css")).toString();
  const colours = new Map(
    [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
      ([, name, light, dark]) => [name!, [light!, dark!] as const],
    ),
  );

  test("has less than 6 KB and refers to nothing outside", () => {
    assert.ok(css.length < 6 * 1024, `${css.length} bytes`);
    assert.doesNotMatch(css, /@import|url\(/);
  });

  // WCAG 2.2 AA: 4.5 for text (1.4.3), 3 for the edges of controls (1.4.11).
  const pairs: [string, string, number][] = [
    ["text", "page", 4.5],
    ["text", "raised", 4.5],
    ["text", "mark", 4.5],
    ["soft", "page", 4.5],
    ["soft", "raised", 4.5],
    ["accent", "page", 4.5],
    ["accent", "raised", 4.5],
    ["on-accent", "accent", 4.5],
    ["bad", "page", 3],
    ["edge", "page", 3],
  ];
  for (const [front, back, least] of pairs) {
    test(`${front} on ${back} has enough contrast, light and dark`, () => {
      for (const mode of [0, 1] as const) {
        const ratio = contrast(colours.get(front)![mode], colours.get(back)![mode]);
        assert.ok(ratio >= least, `${ratio.toFixed(2)} is below ${least}`);
      }
    });
  }
});

/** The contrast ratio of two colours (WCAG 2.2). */
function contrast(one: string, other: string): number {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter! + 0.05) / (darker! + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}
