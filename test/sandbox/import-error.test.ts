import assert from "node:assert/strict";
import { test } from "node:test";
import { importError } from "../../src/sandbox/import-error.ts";

/** Why an import failed, by the stack of what was thrown. */

const VERSION = "/srv/hooks/data/versions/a";

function tell(frames: readonly string[], plugins_dir: string): string {
  const error = new TypeError("no luck");
  error.stack = ["TypeError: no luck", ...frames.map((frame) => `    at ${frame}`)].join("\n");
  const imports = { files: new Set<string>(), needed: [], addons: new Set<string>() };
  return importError(error, { directory: VERSION, plugins_dir }, imports);
}

const OWN = `file://${VERSION}/a.ts:3:7`;
const PROGRAM = "guardFetch (/srv/hooks/data/runtime/1/thread-program.js:20:9)";

test("the place is that of the flow or of its package, and never one of the program", () => {
  for (const plugins of ["/srv/hooks/plugins", "/srv/hooks", "/srv/hooks/dat"]) {
    assert.equal(tell([PROGRAM], plugins), "no luck", plugins);
    assert.equal(tell([PROGRAM, OWN], plugins), "a.ts:3:7: no luck", plugins);
    const frame = `Object.<anonymous> (${plugins}/node_modules/b/index.js:1:2)`;
    assert.equal(tell([frame, OWN], plugins), "node_modules/b/index.js:1:2: no luck", plugins);
  }
});
