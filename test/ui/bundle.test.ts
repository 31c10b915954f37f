import assert from "node:assert/strict";
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
