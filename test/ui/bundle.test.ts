import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { bundleBrowser } from "../../scripts/browser.ts";

test("pages carry types of the contract, and no schema of it", async () => {
  const files = await bundleBrowser();
  assert.ok(files.has("webhook.js"));
  const texts = [...files].map(([name, bytes]) => [name, new TextDecoder().decode(bytes)] as const);
  // Each schema of valibot names its vendor.
  assert.deepEqual(
    texts.filter(([, text]) => text.includes("valibot")).map(([name]) => name),
    [],
  );
});

test("no page needs a module beside its own", async () => {
  const files = await bundleBrowser();
  const pages = readdirSync(new URL("../../src/browser/pages", import.meta.url));
  assert.deepEqual(
    [...files.keys()].toSorted(),
    pages.map((name) => name.replace(/\.tsx?$/, ".js")).toSorted(),
  );
});
