import assert from "node:assert/strict";
import files, { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { test } from "node:test";
import { bundleThread } from "../../scripts/bundle.ts";
import { CompiledProgram } from "../../src/shared/compiled-program.ts";

/** The thread's program as the text of a function. */

async function bundle(code: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "flowhook-bundle-"));
  try {
    const entry = join(folder, "thread.ts");
    await writeFile(entry, code);
    return Buffer.from(await bundleThread(entry)).toString("latin1");
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("a module is a function that gives its default export, and keeps what it has imported", async () => {
  const text = await bundle(`import files, { existsSync as isThere, readFileSync } from "node:fs";
    import { sep } from "node:path";
    export default () => [files, isThere, typeof readFileSync, sep, import.meta.filename];`);
  const before = existsSync;
  const load = new CompiledProgram<() => unknown[]>(text, "program").load(import.meta.filename);
  try {
    files.existsSync = () => true;
    assert.deepEqual(load(), [files, before, "function", sep, import.meta.filename]);
  } finally {
    files.existsSync = before;
  }
});

for (const [what, code] of Object.entries({
  "an import within a text": 'export default () => `\nimport { sep } from "node:path";\n`;',
  "a default import by name":
    'import { default as a, sep } from "node:path"; export default [a, sep];',
  "an import of all": 'import * as path from "node:path"; export default () => path;',
  "no default export": 'export { sep } from "node:path";',
}))
  test(`${what} is refused`, async () => {
    await assert.rejects(
      bundle(code),
      /^Error: Cannot write a function: (\d of \d imports|expected one default export)/,
    );
  });
